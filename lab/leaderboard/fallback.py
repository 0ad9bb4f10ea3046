"""The mark of a student's policy that FIFO replaced during a simulation, with the reason."""

from collections.abc import Iterable, Sequence

from lab.analysis.warnings import fell_back
from lab.files.run_summary import Fallback
from lab.results.metrics import Metrics
from lab.titles import title_of

MARK = "*"


def mark(runs: Iterable[Metrics]) -> str:
    """Behind a title or a figure that these simulations made: nothing where none fell back."""
    return MARK if any(run.get("fallen_back") for run in runs) else ""


def words(places: Iterable[tuple[str, str, Sequence[Metrics]]]) -> str:
    """Of (policy, scenario, simulations): what is said below their table; nothing where all is
    well. The first of several simulations is told whole."""
    told = []
    for policy, scenario, runs in places:
        found = [run for run in runs if run.get("fallen_back")]
        if found:
            first = found[0]
            place = f"{title_of(policy)}, {scenario}, {len(found)} of {len(runs)} runs"
            told.append(fell_back(place, first["seed"], Fallback(**first["fallen_back"])))
    return "".join(f" {MARK} {one}" for one in told)
