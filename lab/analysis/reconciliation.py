"""Compare the counts of the load generator (the client), the gateway and the shop in a run.

The checks define which counts must agree, and by how much they may differ.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lab.analysis.outcomes import Outcomes, outcomes_of
from lab.files.documents import write_json
from lab.files.run_folder import RunFolder
from lab.files.run_summary import VERSION, Check, RunRecord, RunSummary
from lab.spec.runs import ApplianceServer, ShopRun
from loadgen.records.attempts import AttemptOutcome
from loadgen.workload.clients import KIND_PAGE
from loadgen.workload.sessions import CONFIRM_PAGE, PAGES

FILE = KIND_PAGE["file"]

_CONNECTING_S = 1.0
"""The real seconds within which a busy machine accepts a connection and reads a request."""


def summarise(run: ShopRun, seed: int, folder: RunFolder, record: RunRecord) -> RunSummary:
    """Write run.json, which completes the run, and return its content."""
    attempts = folder.attempts()
    outcomes = outcomes_of(attempts, run.offered_rho)
    hasty_s = 0.0
    if isinstance(run.server, ApplianceServer):
        hasty_s = _CONNECTING_S * run.server.time_scale
    before, after = record.before, record.after
    checks = reconcile(outcomes, before, after, hasty=_hasty(attempts, hasty_s))
    known: dict[str, Any] = {
        "version": VERSION,
        "policy": run.policy.key,
        "rho": run.rho,
        "seed": seed,
        "completed_ratio": outcomes.completed_ratio,
        "confirms": outcomes.confirms,
        "duration_s": outcomes.duration_s,
        "reconciles": all(check.holds for check in checks),
        "checks": checks,
        "counts": {"before": before, "after": after},
    }
    if not run.is_closed_loop:  # sessions of a closed loop never end
        known["sessions"] = asdict(outcomes.fates)
    summary = RunSummary.model_validate({**known, **record.facts})
    write_json(folder.summary_file, summary.as_json())
    return summary


def _hasty(attempts: pa.Table, patience_s: float) -> Mapping[str, int]:
    """Count, by page, the attempts that ended so early that the gateway may not have read them."""
    hasty = attempts.filter(
        pc.and_(
            pc.equal(attempts.column("outcome"), AttemptOutcome.TIMED_OUT.value),
            pc.less(attempts.column("patience_s"), patience_s),
        )
    )
    return Counter(hasty.column("page").to_pylist())


def reconcile(
    client: Outcomes,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    *,
    hasty: Mapping[str, int] | None = None,
) -> list[Check]:
    """Return all checks of a run. `before` and `after` are the counts before and after the run, in
    the form of `Appliance.counts()`.

    If a customer leaves while an answer is sent, the client counts a timeout, and the gateway
    counts an answer, a drop or a rejection. The gateway can therefore count more of these than the
    client, by at most the number of timed-out attempts. `hasty` has the number of attempts by page
    that ended so early that they may not have reached the gateway.

    The shop does not count a request as served if the gateway stopped the request. An `overdue`
    request is an exception: the gateway stopped waiting for the shop, but the shop may have served
    the request. The shop does not count an answer with an error, either, for example because the
    database was unavailable (`lost_to`).
    """
    overdue = _overdue(after) - _overdue(before)
    lost = _lost(after) - _lost(before)
    pages = {page: page for page in PAGES}
    if FILE in client.attempts:
        pages[FILE] = "other"  # the gateway's name for requests that are not for the eight pages
    checks = []
    for page, known_as in pages.items():
        arrived = client.generated(page) - client.attempts[page].get(AttemptOutcome.REFUSED, 0)
        fates = _difference(before["gateway"][known_as], after["gateway"][known_as])
        checks += _with_gateway(page, client.attempts[page], fates)
        checks.append(
            _check(
                f"{page}: gateway's arrivals = client's attempts",
                fates["arrived"],
                arrived - (hasty or {}).get(page, 0),
                arrived,
            )
        )
        if page in PAGES:
            served = (
                after["shop"]["pages"][page]["served"] - before["shop"]["pages"][page]["served"]
            )
            ended = fates["answered"] + fates["orphaned"]
            errors = client.attempts[page].get(AttemptOutcome.FAILED, 0)
            errors += min(fates["orphaned"], lost)
            checks.append(
                _check(
                    f"{page}: requests that the shop served = requests that the gateway "
                    "dispatched and did not stop",
                    served,
                    ended - errors,
                    ended + fates["failed"] + min(fates["cancelled"], overdue),
                )
            )
    return [*checks, *_of_orders(client, before, after, overdue), *_of_sentry(before, after)]


def _check(statement: str, value: int, low: int, high: int) -> Check:
    return Check(statement=statement, value=value, low=low, high=high)


def _with_gateway(page: str, client: Mapping[str, int], fates: Mapping[str, int]) -> list[Check]:
    """Return the checks of one page: the client's counts against the gateway's, and the gateway's
    counts against each other."""
    timed_out = client.get(AttemptOutcome.TIMED_OUT, 0)
    dropped = client.get(AttemptOutcome.DROPPED, 0)
    rejected = client.get(AttemptOutcome.REJECTED, 0)
    completed = client.get(AttemptOutcome.COMPLETED, 0)
    failed = client.get(AttemptOutcome.FAILED, 0)
    gone = sum(fates[fate] for fate in ("dispatched", "dropped", "rejected", "withdrawn"))
    ended = sum(fates[fate] for fate in ("answered", "orphaned", "failed", "cancelled"))
    return [
        _check(f"{page}: gateway's drops ≈ client's",
              fates["dropped"], dropped, dropped + timed_out),
        _check(f"{page}: gateway's rejections ≈ client's",
              fates["rejected"], rejected, rejected + timed_out),
        _check(f"{page}: gateway's answers ≈ client's completed",
              fates["answered"], completed, completed + timed_out + failed),
        _check(f"{page}: gateway's arrivals = dispatched + turned away + withdrawn",
              fates["arrived"], gone, gone),
        _check(f"{page}: gateway's dispatched = answered + orphaned + failed + cancelled",
              fates["dispatched"], ended, ended),
    ]  # fmt: skip


def _of_orders(
    client: Outcomes, before: Mapping[str, Any], after: Mapping[str, Any], overdue: int
) -> list[Check]:
    """Return the checks of the orders: each request for Tr-4 that passes its commit point creates
    an order. An order has no confirm if the request finishes after the customer has left, or fails
    after the commit because the database became unavailable."""
    orders = after["shop"]["orders"] - before["shop"]["orders"]
    fates = _difference(before["gateway"][CONFIRM_PAGE], after["gateway"][CONFIRM_PAGE])
    confirms = client.attempts[CONFIRM_PAGE]
    unseen = sum(confirms.get(how, 0) for how in (AttemptOutcome.TIMED_OUT, AttemptOutcome.FAILED))
    finished = fates["answered"] + fates["orphaned"] + fates["failed"] + overdue
    most = min(client.confirms + unseen, finished)
    checks = [_check("shop's orders ≈ client's confirms", orders, client.confirms, most)]
    if "orders" in after:  # a simulation has no database
        kept = after["orders"] - before["orders"]
        checks.append(
            _check("orders in the database ≈ client's confirms", kept, client.confirms, most)
        )
    return checks


def _of_sentry(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Check]:
    if "sentry" not in after["shop"]:
        return []  # a simulation has no separate sentry
    interrupted = after["shop"]["sentry"]["interrupted"] - before["shop"]["sentry"]["interrupted"]
    stopped = sum(
        after["gateway"][page]["cancelled"] - before["gateway"][page]["cancelled"]
        for page in after["gateway"]
    )
    return [_check("shop's interrupted ≤ gateway's cancelled", interrupted, 0, stopped)]


def _difference(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    return {fate: n - before[fate] for fate, n in after.items()}


def _lost(counts: Mapping[str, Any]) -> int:
    return sum(counts["shop"].get("lost_to", {}).values())


def _overdue(counts: Mapping[str, Any]) -> int:
    found: int = counts.get("abandonment", {}).get("overdue", 0)
    return found
