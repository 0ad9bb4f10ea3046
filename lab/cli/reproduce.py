"""The command `doorbuster reproduce`: its options and its output."""

from typing import TYPE_CHECKING, Any

import click

from common.shared_settings import MOST_BANNERS
from lab.cli.command import FRESH, TimedCommand, broker_of, spread
from lab.errors import SpecError
from lab.runner.estimates import cpus_here
from lab.studies.registry import PAPERS

if TYPE_CHECKING:
    from lab.runner.study import StudyRun
    from lab.studies.study import PaperStudy

_SOME_PAPERS_OPTIONS = ("banners",)
"""The options that only some papers have. Each paper's study lists the options it accepts."""


@click.command(cls=TimedCommand)
@click.argument("paper", type=click.Choice(list(PAPERS)))
@click.option(
    "--engine",
    type=click.Choice(["simulated", "live"]),
    help="Run in virtual time (simulated), or live on this machine. docs/reproductions.md names "
    "the default for each paper.",
)
@click.option(
    "--quick",
    is_flag=True,
    help="Use a smaller grid. Simulations then take at most three minutes on two cores; for live "
    "runs, see docs/reproductions.md.",
)
@FRESH
@click.option(
    "--repetitions",
    type=click.IntRange(1, 1000),
    help="The number of simulations or live runs of each case, each with a different seed.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    help="Seed of the first repetition.",
)
@spread
@click.option("--logs", is_flag=True, help="Keep the file attempts.parquet of every simulation.")
@click.option(
    "--banners",
    type=click.IntRange(1000, MOST_BANNERS),
    help="Only for the ad server's paper: the number of contracts that the ad server searches, by "
    "default 300,000.",
)
def reproduce(paper: str, engine: str | None, **given: Any) -> None:
    """Reproduce a paper's figures and tables, and show them next to the published values.

    The command writes an HTML report with figures, tables and their data, and prints the claims of
    the paper that do not hold here or cannot be decided. To resume after an interruption, repeat
    the command.
    """
    study = PAPERS[paper]
    if engine is not None and engine not in study.engines:
        raise SpecError(
            f"--engine {engine}", f"{paper} has no simulator", allowed=", ".join(study.engines)
        )
    for option in _SOME_PAPERS_OPTIONS:
        if given[option] is not None and option not in study.options:
            known = [name for name in PAPERS if option in PAPERS[name].options]
            raise SpecError(
                f"--{option}",
                f"is not an option of {paper}",
                allowed=f"only with {', '.join(known)}",
            )
    is_live = (engine or study.default_engine) == "live"
    run = _live(study, given) if is_live else _simulated(study, given)
    _carry_out(run, fresh=given["fresh"])


def _simulated(study: "PaperStudy[Any]", given: dict[str, Any]) -> "StudyRun":
    from lab.runner.study import Options, SimulatedStudy
    from lab.studies.measures import simulate_case

    if given["logs"] and given["celery"] is not None:
        raise SpecError(
            "--logs",
            "with --celery, the files would stay on the workers",
            allowed="without --celery",
        )
    quick = given["quick"]
    options = Options(
        simulate=simulate_case,
        quick=quick,
        seed=given["seed"],
        repetitions=given["repetitions"] or study.repetitions("simulated", quick=quick),
        processes=given["processes"] or cpus_here(),
        celery_broker=broker_of(given["celery"]),
        logs=given["logs"],
    )
    return SimulatedStudy(study.build("simulated", quick=quick), options)


def _live(study: "PaperStudy[Any]", given: dict[str, Any]) -> "StudyRun":
    otherwise = "--engine simulated" if "simulated" in study.engines else "only without this option"
    for option in ("processes", "celery", "logs"):
        if given[option] not in (None, False):
            raise SpecError(
                f"--{option}",
                f"is only for simulations, and {study.name} runs live",
                allowed=otherwise,
            )
    return study.live(given)


def _carry_out(run: "StudyRun", *, fresh: bool) -> None:
    from lab.files.documents import read_json
    from lab.machine.progress_file import progress_file
    from lab.report.terminal import console
    from lab.runner.study import reproduce as make

    result = make(run, fresh=fresh)
    # A comparison within the study has set another folder in the meantime.
    progress_file.tell(now=True, folder=str(result.path))
    rows = read_json(result.path / "claims.json")
    held = [row for row in rows if row["Holds"] == "yes"]
    console.print(f"{len(held)} of {len(rows)} claims hold.")
    for row in rows:
        if row["Holds"] != "yes":
            console.print(
                f"  {row['Holds']}: {row['Claim']}: {row['Found']} (required: {row['Required']})"
            )
    console.print(f"Report: {result.report_file}")
