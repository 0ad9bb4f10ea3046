"""Cells of a board made by hand: estimated efficiency as given, per repetition."""

from lab.analysis.cells import Cell
from lab.analysis.outcomes import Outcomes, SessionFates
from lab.files.run_summary import RunSummary


def outcomes(efficiency, rho, confirms=10):
    """Return the outcomes of a run that reached this part of the bound (by the estimate).

    None: no session buys.
    """
    return Outcomes(
        rho=rho,
        attempts={"Tr-4": {"completed": confirms}},
        planned={"Br-1": 1000, "Tr-4": 27},
        fates=SessionFates(1000, 0, 60, 900, 2000),
        confirms=confirms,
        duration_s=100.0,
        expected_confirm_ratio=None if efficiency is None else efficiency / max(1.0, rho),
        reachable_ratio=1 / max(1.0, rho),
        lasting_ratio=1 / max(1.0, rho),
    )


def cell(policy, rho, *efficiencies, seeds=(1, 2, 3)):
    """A repetition per efficiency, of the seeds in turn."""
    runs = tuple(outcomes(one, rho) for one in efficiencies)
    nothing = tuple({} for _ in runs)
    summaries = tuple(RunSummary(seed=seed) for seed, _ in zip(seeds, runs, strict=False))
    return Cell(policy, rho, runs, summaries, (0.5,) * len(runs), nothing, None, f"{rho:g}")
