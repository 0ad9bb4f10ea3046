"""Cells of a board made by hand: estimated efficiency as given, per repetition."""

from lab.experiments.cells import Cell
from lab.experiments.outcomes import Outcomes, SessionFates


def outcomes(efficiency, rho, confirms=10):
    """Of a run in which so much of the bound was reached (by the estimate); None: nobody buys."""
    return Outcomes(
        rho=rho,
        attempts={"Tr-4": {"completed": confirms}},
        planned={"Br-1": 1000, "Tr-4": 27},
        fates=SessionFates(1000, 0, 900, 2000),
        confirms=confirms,
        duration_s=100.0,
        lost_worth_ratio=None if efficiency is None else 1.0 - efficiency / max(1.0, rho),
    )


def cell(policy, rho, *efficiencies, seeds=(1, 2, 3)):
    """A repetition per efficiency, of the seeds in turn."""
    runs = tuple(outcomes(one, rho) for one in efficiencies)
    nothing = tuple({} for _ in runs)
    summaries = tuple({"seed": seed} for seed, _ in zip(seeds, runs, strict=False))
    return Cell(policy, rho, runs, summaries, (0.5,) * len(runs), nothing, None, f"{rho:g}")
