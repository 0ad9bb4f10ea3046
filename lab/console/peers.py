"""A frame of the watch while a peer stands in the gateway's place.

Owns: whose figures are shown. Must not know: how a peer is run, what is in a frame.
"""

from collections.abc import Callable, Mapping
from typing import Any

PeerNow = Callable[[], Mapping[str, Any] | None]
"""What the peer of the run under way last said (`lab.experiments.peers.shown`); None without."""


def in_place(snapshot: Mapping[str, Any], peer: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The gateway's `GET /snapshot` with what `peer` says instead; itself without one.

    Counts are cumulative: the gateway's of before, and the peer's since its run began.
    """
    if peer is None:
        return snapshot
    counts = {
        page: {
            fate: number + peer["counts"].get(page, {}).get(fate, 0)
            for fate, number in fates.items()
        }
        for page, fates in snapshot["counts"].items()
    }
    return {**snapshot, **peer, "counts": counts}
