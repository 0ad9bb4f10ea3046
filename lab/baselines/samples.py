"""The samples of a run with a baseline proxy, completed from the proxy's log after the run."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gateway.policies.interface import PAGES
from lab.baselines.requests import Ended


def completed(
    rows: Sequence[dict[str, Any]], ended: Iterable[Ended], began_at: float, time_scale: float
) -> None:
    """Complete the rows, in place, from the log of the baseline proxy.

    The function sets `arrived_total`, `dispatched_total`, the number of waiting requests by page
    and, if the proxy did not report it, `waiting`. `began_at` is the Unix time of the rows' time 0.
    A wait of less than a millisecond does not count as queueing, because the log's times are whole
    milliseconds.
    """
    of_pages = [one for one in ended if one.page in PAGES]
    arrivals = sorted(one.arrived_s for one in of_pages)
    dispatches = sorted(one.dispatched_s for one in of_pages if one.dispatched_s is not None)
    came, went = _queue(of_pages)
    for row in rows:
        now = began_at + row["time_s"] / time_scale
        row["arrived_total"] = bisect_right(arrivals, now)
        row["dispatched_total"] = bisect_right(dispatches, now)
        waiting = {
            page: bisect_right(came[page], now) - bisect_right(went[page], now) for page in PAGES
        }
        row |= {f"waiting_{page}": number for page, number in waiting.items()}
        if row["waiting"] is None:
            row["waiting"] = sum(waiting.values())


def _queue(ended: Iterable[Ended]) -> tuple[Mapping[str, list[float]], Mapping[str, list[float]]]:
    """For each page, return the times at which waits began and the times at which waits ended, both
    in increasing order.
    """
    came: dict[str, list[float]] = defaultdict(list)
    went: dict[str, list[float]] = defaultdict(list)
    for one in ended:
        came[one.page].append(one.arrived_s)
        went[one.page].append(one.ended_s if one.dispatched_s is None else one.dispatched_s)
    for times in (*came.values(), *went.values()):
        times.sort()
    return came, went
