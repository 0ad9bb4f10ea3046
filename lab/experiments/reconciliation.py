"""Three counts of one run, held against each other: the client's, the gateway's, the shop's.

Owns: which counts must agree and by how much they may differ.
Must not know: how they were counted.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from lab.experiments.outcomes import Outcomes
from loadgen.attempts import AttemptOutcome
from loadgen.sessions import CONFIRM_PAGE, PAGES


@dataclass(frozen=True, slots=True)
class Check:
    """One statement about two counts: `low` ≤ `value` ≤ `high` makes it true."""

    statement: str
    value: int
    low: int
    high: int

    @property
    def holds(self) -> bool:
        return self.low <= self.value <= self.high

    def as_dict(self) -> dict[str, Any]:
        """For run.json."""
        return {**asdict(self), "holds": self.holds}


def reconcile(client: Outcomes, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Check]:
    """All checks of a run. `before` and `after` are `Appliance.counts()`.

    A customer who leaves in the very moment of an answer counts it as timed out while the gateway
    counts it as answered or dropped: so timed-out attempts are the slack of every client bound.
    """
    gateway = {
        page: {
            fate: n - before["gateway"][page][fate] for fate, n in after["gateway"][page].items()
        }
        for page in PAGES
    }
    served = {
        page: after["shop"]["pages"][page]["served"] - before["shop"]["pages"][page]["served"]
        for page in PAGES
    }
    orders = after["shop"]["orders"] - before["shop"]["orders"]

    def of_client(outcome: AttemptOutcome, page: str) -> int:
        return client.attempts[page].get(outcome, 0)

    checks = []
    for page in PAGES:
        fates = gateway[page]
        reached = client.generated(page) - of_client(AttemptOutcome.REFUSED, page)
        timed_out = of_client(AttemptOutcome.TIMED_OUT, page)
        dropped = of_client(AttemptOutcome.DROPPED, page)
        completed = of_client(AttemptOutcome.COMPLETED, page)
        failed = of_client(AttemptOutcome.FAILED, page)
        checks += [
            Check(
                f"{page}: gateway's arrivals = client's attempts",
                fates["arrived"],
                reached,
                reached,
            ),
            Check(
                f"{page}: gateway's drops ≈ client's",
                fates["dropped"],
                dropped,
                dropped + timed_out,
            ),
            Check(
                f"{page}: gateway's answers ≈ client's completed",
                fates["answered"],
                completed,
                completed + timed_out + failed,
            ),
            Check(
                f"{page}: gateway's arrivals = dispatched + turned away",
                fates["arrived"],
                (gone := fates["dispatched"] + fates["dropped"] + fates["rejected"]),
                gone,
            ),
            Check(
                f"{page}: shop's served = gateway's dispatched",
                served[page],
                fates["dispatched"] - fates["failed"],
                fates["dispatched"],
            ),
        ]
    # A Tr-4 whose customer gave up is executed all the same, once: an order without a confirm.
    confirms = client.confirms
    unseen = of_client(AttemptOutcome.TIMED_OUT, CONFIRM_PAGE)
    checks.append(Check("shop's orders ≈ client's confirms", orders, confirms, confirms + unseen))
    return checks
