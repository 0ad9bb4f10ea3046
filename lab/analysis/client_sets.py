"""Calculate the results of closed-loop clients by client set and request class, as in Tables 1 to 4
of the Connection Sentry paper.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from loadgen.records.attempts import AttemptOutcome
from loadgen.workload.clients import KIND_PAGE, ClientSet

SETS: tuple[ClientSet, ...] = ("control", "test")


class Part(NamedTuple):
    """A pair of a client set and a class of its requests."""

    clients: ClientSet
    kind: str


@dataclass(frozen=True, slots=True)
class Got:
    """The results of the requests of one class from one set of clients."""

    served: int
    latency_s: float | None
    """The mean latency of the served attempts, in paper seconds; None if no attempt was served."""
    p95_s: float | None
    left: int
    """The number of attempts whose client left before an answer."""
    turned_away: int
    """The number of attempts that were dropped, rejected, refused or failed."""


def by_class(attempts: pa.Table, control_clients: int) -> Mapping[Part, Got]:
    """Return the results for each combination of set and class that occurs.

    Clients 0 … `control_clients` − 1 are the control set.
    """
    is_control = pc.less(attempts.column("session"), control_clients)
    sets = {"control": attempts.filter(is_control), "test": attempts.filter(pc.invert(is_control))}
    found = {}
    for clients in SETS:
        for kind, page in KIND_PAGE.items():
            own = sets[clients].filter(pc.equal(sets[clients].column("page"), page))
            if own.num_rows:
                found[Part(clients, kind)] = _got(own)
    return found


def _got(attempts: pa.Table) -> Got:
    outcome = attempts.column("outcome").to_numpy(zero_copy_only=False)
    times_s = attempts.column("finished_s").to_numpy() - attempts.column("started_s").to_numpy()
    times_s = times_s[outcome == AttemptOutcome.COMPLETED]
    left = int(np.count_nonzero(outcome == AttemptOutcome.TIMED_OUT))
    return Got(
        served=len(times_s),
        latency_s=float(times_s.mean()) if len(times_s) else None,
        p95_s=float(np.percentile(times_s, 95)) if len(times_s) else None,
        left=left,
        turned_away=len(outcome) - len(times_s) - left,
    )
