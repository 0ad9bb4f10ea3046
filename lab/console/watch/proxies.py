"""The part of a frame about a baseline proxy in the gateway's place, during and after its run."""

from collections.abc import Callable, Mapping
from typing import Any

ProxyNow = Callable[[], Mapping[str, Any] | None]
"""A function that returns the state of the run's baseline proxy
(`lab.engines.live.baseline_proxy`), or None."""

Counts = Mapping[str, Mapping[str, int]]


class InPlace:
    """The samples of the program that serves the requests: the gateway or a baseline proxy.

    The counts are sums over the gateway, the earlier proxies, and the current proxy since its run
    began. They return to zero only if the gateway starts again.
    """

    def __init__(self) -> None:
        self._gateway = 1
        self._before: Mapping[str, Any] | None = None
        self._gone: Counts = {}
        self._proxy: Counts = {}

    def look(self, snapshot: Mapping[str, Any], proxy: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the gateway's answer to `GET /snapshot`. If there is a `proxy`, the proxy's values
        replace the gateway's values. `gateway` is a number that changes when the gateway starts
        again."""
        if self._before is not None and _is_anew(self._before, snapshot):
            self._gateway += 1
            self._gone = {}
            self._proxy = {}
        self._before = snapshot
        counts: Counts = proxy["counts"] if proxy is not None else {}
        if _arrived(counts) < _arrived(self._proxy):  # gone, or another proxy's run has begun
            self._gone = _sum(self._gone, self._proxy)
        self._proxy = counts
        found = _sum(snapshot["counts"], _sum(self._gone, counts))
        # A proxy also counts requests that are not for pages, but the gateway does not.
        found = {page: found[page] for page in snapshot["counts"]}
        return {**snapshot, **(proxy or {}), "counts": found, "gateway": self._gateway}


def _is_anew(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Return whether a new gateway process answers. The clock and counts of a new process begin at
    zero."""
    is_earlier = bool(now["time_s"] < before["time_s"])
    return is_earlier or _arrived(now["counts"]) < _arrived(before["counts"])


def _arrived(counts: Counts) -> int:
    return sum(fates.get("arrived", 0) for fates in counts.values())


def _sum(one: Counts, other: Counts) -> Counts:
    return {
        page: {
            fate: one.get(page, {}).get(fate, 0) + other.get(page, {}).get(fate, 0)
            for fate in one.get(page, {}).keys() | other.get(page, {}).keys()
        }
        for page in one.keys() | other.keys()
    }
