"""The decision trace of one attempt: what the policy knew, and why it decided as it did."""

import contextlib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from common.telemetry.trace_context import is_sampled, trace_id_of
from gateway.policies import NO_ADMISSION
from gateway.policies.registry import admission_sheet, sheet
from gateway.policies.sheet import Sheet
from gateway.students.naming import sheet_of_file
from lab.analysis.decision_trace import DecisionTrace, Wanted
from lab.baselines import sheets as proxies
from lab.baselines.sheets import PROXIES
from lab.console.results.decision_words import answer, facts, sentences
from lab.console.results.logs import ask
from lab.console.results.result_list import ResultEntry
from lab.console.site.settings import FOLDER, LAB
from lab.errors import ExperimentError
from lab.files.documents import write_text
from lab.files.run_summary import PlannedRun
from lab.machine.description import code_digest
from lab.results.comparison import ComparisonResult
from lab.spec.sections import PolicyChoice
from lab.wording import title_of

PLACE = FOLDER / "stories"
MOST_KEPT = 500
NOT_KNOWN = (
    "The log of a live run has one sample of the gateway per utilisation interval, not one per "
    "decision. This page therefore cannot show the policy's state at the decision or the other "
    "requests at this time. If you simulate the same spec, the page shows every decision."
)


@dataclass(frozen=True, slots=True)
class Traced:
    """The exported trace of an attempt (docs/telemetry.md)."""

    id: str
    address: str
    """The address of the trace in the trace viewer; empty if the settings name no viewer."""


@dataclass(frozen=True, slots=True)
class Known:
    """A policy's data sheet, with the values of its parameters in this run."""

    title: str
    sheet: Sheet
    values: Mapping[str, Any]


def sheets(choice: PolicyChoice) -> list[Known]:
    """Return the data sheets of the queueing policy and of an admission policy in front of it. For
    a run behind a baseline proxy, return the proxy's sheet."""
    if choice.gateway is not None:
        proxy = PROXIES[choice.gateway].sheet
        read = proxies.read(choice.gateway, choice.parameters)
        return [Known(title_of(choice.gateway), proxy, read)]
    queueing = sheet_of_file(choice.file) if choice.file is not None else sheet(choice.name)
    found = [Known(title_of(choice.policy_name), queueing, queueing.read(choice.parameters))]
    if choice.admission != NO_ADMISSION:
        door = admission_sheet(choice.admission)
        values = door.read(choice.admission_parameters)
        found.insert(0, Known(title_of(choice.admission), door, values))
    return found


def told(result: ResultEntry, planned: PlannedRun, attempt: Mapping[str, Any]) -> dict[str, Any]:
    """Return what happened to an attempt of a simulated run: `answer`, `sentences` and `preferred`.
    The first call for a run simulates the run again. Raises ExperimentError if the decision cannot
    be explained."""
    trace = _kept(result, planned, attempt)
    if not trace.same_run:
        raise ExperimentError(
            "This page cannot explain the stored run, because this version of Doorbuster repeats "
            "the run with other outcomes (see Machine and versions). Run the spec again, and look "
            "at the new result."
        )
    if not trace.found:
        raise ExperimentError(
            "No policy decided about this request, because requests for book covers do not go "
            "through a policy."
        )
    spec = ComparisonResult(result.path).spec()
    abandonment = spec.abandonment_of(spec.choice(planned.policy))
    return {
        "answer": answer(trace),
        "sentences": sentences(trace, attempt, abandonment),
        "preferred": [
            one | {"knew": facts(one["knew"], attempt["page"])} for one in trace.preferred[-5:]
        ],
    }


def logged(result: ResultEntry, planned: PlannedRun, attempt: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the log of a live run shows about an attempt: the `samples` near it, the run's
    `events`, the text `not_known`, and the exported trace `traced` or None. Raises ExperimentError
    if the logs cannot be read."""
    asked = {name: attempt[name] for name in ("page", "started_s", "finished_s")}
    found: dict[str, Any] = ask(result, "around", run=planned.folder, **asked)
    return found | {"not_known": NOT_KNOWN, "traced": _traced(result, planned, attempt)}


def _traced(result: ResultEntry, planned: PlannedRun, attempt: Mapping[str, Any]) -> Traced | None:
    request_id = attempt["request_id"]
    ratio = ComparisonResult(result.path).run(planned).summary().traced_ratio
    trace_id = trace_id_of(request_id.encode())
    # The gateway has chosen the id, because the load generator sends none.
    if not request_id or not is_sampled(trace_id, ratio):
        return None
    shown = f"{trace_id:032x}"
    return Traced(shown, LAB.telemetry_viewer.replace("{trace}", shown))


def _kept(result: ResultEntry, planned: PlannedRun, attempt: Mapping[str, Any]) -> DecisionTrace:
    wanted = Wanted(
        *(attempt[name] for name in ("session", "step", "attempt", "page", "started_s"))
    )
    run = ComparisonResult(result.path).run(planned)
    try:
        changed_ns = run.summary_file.stat().st_mtime_ns
    except OSError as fault:
        raise ExperimentError(f"{run.summary_file} cannot be read ({fault.strerror}).") from None
    told_of = [result.name, planned.folder, changed_ns, code_digest()]
    digest = hashlib.sha256(json.dumps([told_of, asdict(wanted)]).encode()).hexdigest()[:32]
    path = PLACE / f"{digest}.json"
    try:
        return DecisionTrace(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError):
        pass  # not reported yet
    found = ask(result, "explain", large=True, run=planned.folder, wanted=asdict(wanted))
    trace, text = DecisionTrace(**found), json.dumps(found)
    PLACE.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):  # another thread has just removed an old trace
        kept = sorted(PLACE.glob("*.json"), key=lambda one: one.stat().st_mtime)
        for old in kept[: max(0, len(kept) - MOST_KEPT)]:
            old.unlink()
    write_text(path, text)
    return trace
