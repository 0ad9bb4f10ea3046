"""The mark for a student's policy that FIFO replaced during a simulation, with the reason."""

from collections.abc import Iterable, Sequence

from lab.analysis.warnings import fell_back
from lab.files.run_summary import Fallback
from lab.results.metrics import Metrics
from lab.titles import title_of

MARK = "*"


def mark(runs: Iterable[Metrics]) -> str:
    """Return the mark to add to a title or number from these simulations; empty if FIFO did not
    replace the policy.
    """
    return MARK if any(run.get("fallen_back") for run in runs) else ""


def words(places: Iterable[tuple[str, str, Sequence[Metrics]]]) -> str:
    """Return the text below a table about the first simulation in which FIFO replaced each policy,
    from (policy, scenario, simulations) of each cell; empty if there is none.
    """
    told = []
    for policy, scenario, runs in places:
        found = [run for run in runs if run.get("fallen_back")]
        if found:
            first = found[0]
            place = f"{title_of(policy)}, {scenario}, {len(found)} of {len(runs)} runs"
            told.append(fell_back(place, first["seed"], Fallback(**first["fallen_back"])))
    return "".join(f" {MARK} {one}" for one in told)
