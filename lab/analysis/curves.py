"""The curves of a comparison as numbers: response times, metrics over ρ, and fates of sessions.

All times are paper seconds.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lab.analysis import metrics
from lab.analysis.cells import Cell, counted_attempts, read_cells
from lab.analysis.outcomes import FATES, response_times_s
from lab.intervals import Estimate, estimate
from lab.results.comparison import ComparisonResult

TIMES_S = np.arange(0.0, 40.25, 0.25)
"""The times t, in paper seconds, at which the distribution of response times is calculated."""
BIN_S = 1.0
"""The width of each bar in the histogram, in paper seconds."""
ALL_PAGES = "all pages"

Band = Mapping[str, Sequence[float | None]]
"""The values `mean`, `low` and `high` of a curve at each x; with a single run, `low` and `high` are
None.
"""


def curves_of(folder: ComparisonResult) -> dict[str, Any]:
    """Return the curves, with `times_s`, `lines` (one per policy and ρ) and `against_rho`, as
    JSON-ready values.

    A line has `key`, `policy`, `title`, `rho`, `load`, `repetitions` and these mappings:

    - `attempts`: the number of attempts by page,
    - `above`: a Band by page, the share of attempts not answered within each of `times_s`,
    - `histogram`: by page, the share of attempts with a response time in each bin of BIN_S,
    - `fates`: by fate, mean, low and high of the share of all arrived sessions with this fate.

    Raises ExperimentError if a file is damaged, or if a run has no attempts after its warm-up.
    """
    cells = read_cells(folder)
    return {
        "times_s": TIMES_S.tolist(),
        "bin_s": BIN_S,
        "capacity_rps": folder.capacity_rps(),
        "lines": [_line(folder, cell) for cell in cells],
        "against_rho": [] if any(cell.rho is None for cell in cells) else _against_rho(cells),
    }


def share_above(times_s: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return P(response time > t) at TIMES_S; attempts without an answer have an infinite response
    time."""
    ordered = np.sort(times_s)
    return 1.0 - np.searchsorted(ordered, TIMES_S, side="right") / len(ordered)


def _line(folder: ComparisonResult, cell: Cell) -> dict[str, Any]:
    spec = folder.spec()
    runs = [
        counted_attempts(spec, run)
        for planned, run in folder.whole_runs()
        if (planned.policy, planned.rho) == (cell.policy, cell.rho)
    ]
    above: dict[str, Band] = {}
    histogram: dict[str, list[float]] = {}
    attempts: dict[str, int] = {}
    pages = {page for run in runs for page in run.column("page").unique().to_pylist()}
    for page in (ALL_PAGES, *sorted(pages)):
        of_page = None if page == ALL_PAGES else page
        found = [times for run in runs if len(times := response_times_s(run, of_page))]
        if not found:
            continue
        attempts[page] = sum(map(len, found))
        above[page] = band([share_above(times) for times in found])
        pooled = share_above(np.concatenate(found))[:: round(BIN_S / TIMES_S[1])]
        histogram[page] = _rounded(pooled[:-1] - pooled[1:])
    return {
        "key": f"{cell.policy}@{'' if cell.rho is None else f'{cell.rho:g}'}",
        "policy": cell.policy,
        "title": cell.title,
        "rho": cell.rho,
        "load": cell.load,
        "repetitions": len(cell.runs),
        "attempts": attempts,
        "above": above,
        "histogram": histogram,
        "fates": {
            fate: _interval(estimate([run.fates.share(fate) for run in cell.runs]), most=1.0)
            for fate in FATES
        },
    }


def _against_rho(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    found = []
    for curve, metric in metrics.curves():
        lines: list[dict[str, Any]] = []
        for policy, title in {cell.policy: cell.title for cell in cells}.items():
            points = [
                {"rho": cell.rho, **_interval(known)}
                for cell in cells
                if cell.policy == policy and (known := cell.over_known(metric.of))
            ]
            if points:
                lines.append({"policy": policy, "title": title, "points": points})
        if any(point["mean"] for line in lines for point in line["points"]):
            found.append({"key": curve.key, "words": curve.words, "lines": lines})
    return found


def band(curves: Sequence[npt.NDArray[np.float64]]) -> Band:
    """Return the mean and the 95 % interval of the repetitions' curves at each x."""
    stacked = np.stack(curves)
    mean = stacked.mean(axis=0)
    if len(curves) == 1:
        nothing = [None] * len(mean)
        return {"mean": _rounded(mean), "low": nothing, "high": nothing}
    half = np.array([estimate(column).half_width for column in stacked.T.tolist()])
    return {
        "mean": _rounded(mean),
        "low": _rounded(np.clip(mean - half, 0.0, 1.0)),
        "high": _rounded(np.clip(mean + half, 0.0, 1.0)),
    }


def _interval(known: Estimate, most: float = np.inf) -> dict[str, float | None]:
    half = known.half_width
    return {
        "mean": round(known.mean, 5),
        "low": None if half is None else round(max(0.0, known.mean - half), 5),
        "high": None if half is None else round(min(most, known.mean + half), 5),
    }


def _rounded(values: npt.NDArray[np.float64]) -> list[float]:
    return [round(value, 5) for value in values.tolist()]
