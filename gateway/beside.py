"""What goes beside the policy: the shop's files and so on, and servers that stand beside the shop.

Owns: which request goes where, by the beginning of its path; a lane and connections for each.
Must not know: policies, what the servers do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gateway.lanes import OtherLane
from gateway.upstream import Pool

OTHER: Final = "other"
"""The name of all that nobody else takes: it goes to the shop."""
ADS: Final = "ads"


@dataclass(frozen=True, slots=True)
class Beside:
    """A lane of its own, to requests whose path begins with `prefix`; `name` is for counts.

    `pools`: one for each process that serves them.
    """

    name: str
    prefix: bytes
    lane: OtherLane
    pools: tuple[Pool, ...]


def lane_for(target: bytes, beside: Sequence[Beside]) -> OtherLane:
    """The lane of a request target (origin form): of the first prefix that fits, else the last."""
    for one in beside:
        if target.startswith(one.prefix):
            return one.lane
    return beside[-1].lane
