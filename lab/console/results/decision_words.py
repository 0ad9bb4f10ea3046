"""A decision trace as text: the outcome, the events with their times, and what the policy knew."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gateway.policies.interface import PAGES
from lab.analysis.decision_trace import DecisionTrace


@dataclass(frozen=True, slots=True)
class Sentence:
    """An event with its time. `knew` is what the policy knew at that time."""

    time_s: float
    head: str
    text: str
    knew: Mapping[str, Any] | None = None


def answer(trace: DecisionTrace) -> str:
    """Return one or two sentences about what happened to the attempt."""
    if _waited_in_vain(trace):
        waited_s = (trace.refused_s or 0.0) - (trace.arrived_s or 0.0)
        return f"The request was held for {waited_s:.2f} s and then turned away: {trace.reason}."
    if trace.refused:
        verb = "rejected" if trace.refused == "reject" else "dropped"
        return f"The policy {verb} the request when it arrived: {trace.reason}."
    if trace.dispatched_s is None:
        return "The request was held and never served."
    waited_s = trace.dispatched_s - (trace.arrived_s or 0.0)
    if waited_s == 0.0 and not trace.served_before and not trace.overtook:
        served = "The request was served at once, because a worker was free"
    else:
        served = f"The request was held for {waited_s:.2f} s and then served"
    if trace.outcome == "orphaned":
        return f"{served}. Its customer had already left, so this orphan request wasted work."
    if trace.outcome == "cancelled":
        return f"{served}. It was stopped during the work, because its customer had left."
    return f"{served}."


def sentences(trace: DecisionTrace, attempt: Mapping[str, Any], abandonment: str) -> list[Sentence]:
    """Return the events of an attempt, ordered by time. `abandonment` is the run's setting."""
    events = _events(trace, attempt["page"], abandonment)
    return sorted(events, key=lambda one: one.time_s)


def _events(trace: DecisionTrace, page: str, abandonment: str) -> Iterator[Sentence]:
    assert trace.arrived_s is not None
    knew = trace.knew_at_arrival
    has_waited_in_vain = _waited_in_vain(trace)
    verdict = f"The policy's verdict was {trace.refused}: “{trace.reason}”."
    if trace.refused and not has_waited_in_vain:
        decision = verdict
    else:
        decision = "The policy did not turn the request away at once."
    text = f"{_queue(knew, page)} {_load(trace)} {decision}"
    yield Sentence(trace.arrived_s, "It arrived", text, facts(knew, page))
    for time_s, discipline in trace.disciplines[1:]:
        text = f"The discipline became {discipline} while the request waited."
        yield Sentence(time_s, "The discipline changed", text)
    if trace.served_before or trace.overtook:
        yield _held(trace)
    if trace.left_s is not None:
        yield Sentence(trace.left_s, "Its customer left", _left(trace, abandonment))
    if trace.refused_s is not None and has_waited_in_vain:
        yield Sentence(trace.refused_s, "It was turned away", verdict)
    if trace.dispatched_s is not None:
        knew = trace.knew_at_dispatch
        text = _served(knew, page)
        yield Sentence(trace.dispatched_s, "A worker took it", text, facts(knew, page))
    if trace.ended_s is not None:
        yield Sentence(trace.ended_s, "Its work ended", _ENDS[trace.outcome])


def _waited_in_vain(trace: DecisionTrace) -> bool:
    """Return whether the attempt had to wait and was then turned away."""
    return bool(trace.refused) and trace.refused_s != trace.arrived_s


_QUEUES = {"all": "the single queue", "inside": "the queue inside", "door": "the admission queue"}
_ENDS = {
    "answered": "The customer received the page.",
    "orphaned": "The page was completed, but its customer had already left.",
    "failed": "The customer received no usable answer.",
    "cancelled": "The request was stopped before the page was complete.",
}


def _queue(knew: Mapping[str, Any], page: str) -> str:
    queues, places = knew.get("queues", {}), knew.get("capacities", {})
    found = []
    for name in (name for name in (page, *_QUEUES) if name in queues):
        of = f"of {places[name]} places were taken" if name in places else "waited"
        found.append(f"in {_QUEUES.get(name, f'queue {name}')} {queues[name]} {of}")
    if not found:
        return ""
    words = f"I{', '.join(found)[1:]}"
    discipline = knew.get("discipline")
    where = " in the admission queue" if "door" in queues else ""
    return f"{words}; the discipline{where} was {discipline}." if discipline else f"{words}."


def _load(trace: DecisionTrace) -> str:
    if trace.load is None:
        return "The server had not reported its load yet."
    return (
        f"The last load sample showed {100 * trace.load['cpu_utilisation_ratio']:.0f} % CPU and "
        f"{trace.load['busy_workers']} busy workers."
    )


def _held(trace: DecisionTrace) -> Sentence:
    assert trace.arrived_s is not None
    parts = []
    if trace.served_before:
        parts.append(f"{_total(trace.served_before)} had arrived before it")
    if trace.overtook:
        parts.append(f"{_total(trace.overtook)} arrived after it and overtook it")
    count = sum(trace.served_before.values()) + sum(trace.overtook.values())
    others = "1 other request" if count == 1 else f"{count} other requests"
    return Sentence(
        trace.arrived_s,
        "It was held",
        f"While the request waited, workers took {others}: {', and '.join(parts)}.",
    )


def _total(counted: Mapping[str, int]) -> str:
    ranked: Sequence[tuple[str, int]] = sorted(counted.items(), key=lambda one: -one[1])
    return f"{sum(counted.values())} ({', '.join(f'{page} {n}' for page, n in ranked)})"


def _left(trace: DecisionTrace, abandonment: str) -> str:
    if trace.dispatched_s is not None and (trace.left_s or 0.0) >= trace.dispatched_s:
        if abandonment == "cancel":
            return "The request was in service. In abandonment mode “cancel”, its work was stopped."
        return (
            f"The request was in service. In abandonment mode “{abandonment}”, its page was "
            "completed."
        )
    if trace.withdrawn_s is not None:
        return "The request was waiting and was removed from its queue."
    return (
        f"The request was waiting. In abandonment mode “{abandonment}”, it kept its place as an "
        "orphan request."
    )


def _served(knew: Mapping[str, Any], page: str) -> str:
    words = []
    priorities = knew.get("dynamic_priority", {})
    if page in priorities:
        length, own = knew["queues"][page], priorities[page]
        rest = ", ".join(
            f"{name} {value:g}" for name, value in priorities.items() if name != page and value
        )
        words.append(
            f"Queue {page} had the largest N × utility: {length} × {own / max(1, length):g} = "
            f"{own:g}{f', before {rest}.' if rest else '; no other request waited.'}"
        )
    where = {
        "only": "The request was the only request in this queue.",
        "oldest": f"The request was the oldest of {knew.get('of')} requests in this queue",
        "newest": f"The request was the newest of {knew.get('of')} requests in this queue",
        "between": (
            f"{knew.get('before_it')} of the {knew.get('of')} requests in this queue were older"
        ),
    }.get(str(knew.get("place")), "")
    if where and knew.get("place") != "only":
        discipline = (
            "FIFO" if page.startswith("Tr") and page in priorities else knew.get("discipline")
        )
        where += f", and the discipline was {discipline}." if discipline else "."
    return " ".join(filter(None, (*words, where)))


def facts(knew: Mapping[str, Any], page: str) -> dict[str, Any]:
    """Return what the policy knew as a table: a row for each queue, and the values of the session
    admission."""
    queues = knew.get("queues", {})
    order = [name for name in (*PAGES, *_QUEUES) if name in queues]
    return {
        "queues": [
            {
                "name": name,
                "own": name == page or name == "all",
                "length": queues[name],
                "capacity": knew.get("capacities", {}).get(name),
                "priority": knew.get("dynamic_priority", {}).get(name),
            }
            for name in order
        ],
        "has_priority": "dynamic_priority" in knew,
        "admission": {
            name.removesuffix("_ratio").replace("_", " "): _figure(value)
            for name, value in knew.get("admission", {}).items()
            if value is not None
        },
    }


def _figure(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
