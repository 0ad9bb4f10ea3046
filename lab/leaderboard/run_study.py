"""Carry out a simulated study of the leaderboard, write its report, and print its tables."""

from collections.abc import Sequence

from lab.baselines.sheets import PROXIES
from lab.leaderboard import TUNING_PART, bound_study, hysteresis_study, robustness_study, tuning
from lab.report.terminal import console, show
from lab.runner.estimates import cpus_here
from lab.runner.study import Options, SimulatedStudy, reproduce
from lab.spec import own_policies
from lab.spec.experiment import Spec
from lab.studies.measures import simulate_case

STUDIES = {
    "robustness": robustness_study.study,
    "hysteresis": hysteresis_study.study,
    "bound": bound_study.study,
}


def carry_out_study(
    part: str,
    base: Spec,
    *,
    quick: bool,
    fresh: bool,
    processes: int | None,
    broker: str | None,
    proxies: Sequence[str] = tuple(PROXIES),
) -> None:
    """Carry out a study for the policies of `base`, with the seeds of `base`. `proxies` names the
    proxies whose models the search for settings includes. Raises ExperimentError if a simulation
    fails."""
    options = Options(
        simulate=simulate_case,
        quick=quick,
        seed=base.seed,
        repetitions=base.repetitions,
        processes=processes or cpus_here(),
        celery_broker=broker,
    )
    if part == TUNING_PART:
        study = tuning.study(base, proxies=proxies)
    else:
        study = STUDIES[part](base, quick=quick)
    own = own_policies.named_copies(own_policies.of_spec(base))
    run = SimulatedStudy(study, options, own)
    result = reproduce(run, fresh=fresh)
    results = run.results(result)
    for figure in reversed(study.figures):
        for table in reversed(figure.tables):
            show(table.table(results))
    for claim in study.claims:
        found, holds = claim.decide(results)
        if not holds:
            verdict = "Undecided" if holds is None else "Does not hold"
            console.print(f"{verdict}: {claim.text}: {found} (required: {claim.required})")
    console.print(f"Report: {result.report_file}")
