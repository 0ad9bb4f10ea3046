"""Three counts of one run, held against each other: the client's, the gateway's, the shop's.

Owns: which counts must agree and by how much they may differ.
Must not know: how they were counted.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from lab.experiments.outcomes import Outcomes, outcomes_of
from lab.experiments.results import PlannedRun, RunFolder
from lab.experiments.spec import Spec
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


def summarise(
    spec: Spec,
    planned: PlannedRun,
    folder: RunFolder,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
) -> dict[str, Any]:
    """What run.json says of either engine's run: the counts of all three, whether they agree."""
    outcomes = outcomes_of(folder.attempts(), spec.load.offered(planned.rho))
    checks = reconcile(outcomes, before, after, leavers_are_taken_out=spec.abandonment != "ignore")
    return {
        "policy": planned.policy,
        "rho": planned.rho,
        "seed": planned.seed,
        "completed_ratio": outcomes.completed_ratio,
        "confirms": outcomes.confirms,
        "sessions": asdict(outcomes.fates),
        "duration_s": outcomes.duration_s,
        "reconciles": all(check.holds for check in checks),
        "checks": [check.as_dict() for check in checks],
        "counts": {"before": before, "after": after},
    }


def reconcile(
    client: Outcomes,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    *,
    leavers_are_taken_out: bool = False,
) -> list[Check]:
    """All checks of a run. `before` and `after` are `Appliance.counts()`.

    A customer who leaves in the very moment of an answer counts it as timed out while the gateway
    counts it as answered, dropped or rejected: so timed-out attempts are the slack of every client
    bound. `leavers_are_taken_out`: what waits is withdrawn when its customer leaves.
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

    leaving = ["dispatched", "dropped", "rejected"]
    if leavers_are_taken_out:
        leaving.append("abandoned_waiting")
    checks = []
    for page in PAGES:
        fates = gateway[page]
        reached = client.generated(page) - of_client(AttemptOutcome.REFUSED, page)
        timed_out = of_client(AttemptOutcome.TIMED_OUT, page)
        dropped = of_client(AttemptOutcome.DROPPED, page)
        rejected = of_client(AttemptOutcome.REJECTED, page)
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
                f"{page}: gateway's rejections ≈ client's",
                fates["rejected"],
                rejected,
                rejected + timed_out,
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
                (gone := sum(fates[fate] for fate in leaving)),
                gone,
            ),
            Check(
                f"{page}: shop's served = gateway's dispatched",
                served[page],
                fates["dispatched"] - fates["failed"] - fates["cancelled"],
                fates["dispatched"],
            ),
        ]
    # A Tr-4 whose customer gave up is executed all the same, once: an order without a confirm.
    confirms = client.confirms
    unseen = of_client(AttemptOutcome.TIMED_OUT, CONFIRM_PAGE)
    checks.append(Check("shop's orders ≈ client's confirms", orders, confirms, confirms + unseen))
    return checks
