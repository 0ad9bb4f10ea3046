"""A decision trace in words: how the attempt was answered, what happened when, what was known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gateway.policies.interface import PAGES
from lab.analysis.decision_trace import Story


@dataclass(frozen=True, slots=True)
class Sentence:
    """Something that happened, at a time; `knew` is what the policy knew then."""

    time_s: float
    head: str
    text: str
    knew: Mapping[str, Any] | None = None


def answer(story: Story) -> str:
    """In one sentence."""
    if _waited_in_vain(story):
        waited_s = (story.refused_s or 0.0) - (story.arrived_s or 0.0)
        return f"Held for {waited_s:.2f} s, then turned away: {story.reason}."
    if story.refused == "reject":
        return f"Refused by admission when it came: {story.reason}."
    if story.refused:
        return f"Refused by the queue: {story.reason}."
    if story.dispatched_s is None:
        return "Held, and never served."
    waited_s = story.dispatched_s - (story.arrived_s or 0.0)
    if waited_s == 0.0 and not story.served_before and not story.overtook:
        served = "Served at once: a worker was free when it came"
    else:
        served = f"Held for {waited_s:.2f} s, then served"
    if story.outcome == "orphaned":
        return f"{served}; but its customer had left: an orphan request, work for nobody."
    if story.outcome == "cancelled":
        return f"{served}, and stopped in the middle: its customer had left."
    return f"{served}."


def sentences(story: Story, attempt: Mapping[str, Any], abandonment: str) -> list[Sentence]:
    """What happened to it, in the order of time; `abandonment` is the run's."""
    page = attempt["page"]
    assert story.arrived_s is not None
    knew = story.knew_at_arrival
    text = f"{_queue(knew, page)} {_load(story)}"
    verdict = f"The verdict: {story.refused}, “{story.reason}”."
    if story.refused and not _waited_in_vain(story):
        text += f" {verdict}"
    else:
        text += " No verdict: it waits."
    told = [Sentence(story.arrived_s, "It came", text, facts(knew, page))]
    for time_s, discipline in story.disciplines[1:]:
        told.append(
            Sentence(
                time_s, "The discipline changed", f"From now on {discipline}, while it waited."
            )
        )
    if story.served_before or story.overtook:
        told.append(_held(story))
    if story.left_s is not None:
        told.append(Sentence(story.left_s, "Its customer left", _left(story, abandonment)))
    if story.refused_s is not None and _waited_in_vain(story):
        told.append(Sentence(story.refused_s, "It was turned away", verdict))
    if story.dispatched_s is not None:
        told.append(
            Sentence(
                story.dispatched_s,
                "A worker took it",
                _served(story.knew_at_dispatch, page),
                facts(story.knew_at_dispatch, page),
            )
        )
    if story.ended_s is not None:
        told.append(Sentence(story.ended_s, "Its work ended", _ENDS[story.outcome]))
    return sorted(told, key=lambda one: one.time_s)


def _waited_in_vain(story: Story) -> bool:
    """Whether it was refused after it had been let wait."""
    return bool(story.refused) and story.refused_s != story.arrived_s


_QUEUES = {"all": "the one queue", "inside": "the line inside", "door": "the line at the door"}
_ENDS = {
    "answered": "The customer got the page.",
    "orphaned": "The page was made in full, and nobody was there to get it.",
    "failed": "There was no usable answer.",
    "cancelled": "It was stopped before it was done.",
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
    where = " at the door" if "door" in queues else ""
    return f"{words}; the discipline{where} was {discipline}." if discipline else f"{words}."


def _load(story: Story) -> str:
    if story.load is None:
        return "The server had not reported its load yet."
    return (
        f"The last load sample said {100 * story.load['cpu_utilisation_ratio']:.0f} % CPU and "
        f"{story.load['busy_workers']} busy workers."
    )


def _held(story: Story) -> Sentence:
    assert story.arrived_s is not None
    parts = []
    if story.served_before:
        parts.append(f"{_total(story.served_before)} had come before it")
    if story.overtook:
        parts.append(f"{_total(story.overtook)} came after it and overtook it")
    count = sum(story.served_before.values()) + sum(story.overtook.values())
    return Sentence(
        story.arrived_s,
        "It was held",
        f"While it waited, workers were given to {count} others: {'; '.join(parts)}.",
    )


def _total(counted: Mapping[str, int]) -> str:
    ranked: Sequence[tuple[str, int]] = sorted(counted.items(), key=lambda one: -one[1])
    return f"{sum(counted.values())} ({', '.join(f'{page} {n}' for page, n in ranked)})"


def _left(story: Story, abandonment: str) -> str:
    if story.dispatched_s is not None and (story.left_s or 0.0) >= story.dispatched_s:
        if abandonment == "cancel":
            return "While it was served; abandonment cancels: its work was stopped."
        return "While it was served; that is not looked at here: it was executed in full."
    if story.withdrawn_s is not None:
        return "While it waited; it was taken out of its queue."
    return "While it waited. Abandonment is ignored: it kept its place, an orphan request."


def _served(knew: Mapping[str, Any], page: str) -> str:
    words = []
    priorities = knew.get("dynamic_priority", {})
    if page in priorities:
        queues = knew["queues"]
        rest = [(name, value) for name, value in priorities.items() if name != page and value]
        words.append(
            f"Queue {page} had the largest N × utility: {queues[page]} × "
            f"{priorities[page] / max(1, queues[page]):g} = {priorities[page]:g}"
            + (
                f", before {', '.join(f'{name} {value:g}' for name, value in rest)}."
                if rest
                else "; no other request waited."
            )
        )
    where = {
        "only": "It was the only one there.",
        "oldest": f"It was the oldest of {knew.get('of')} there",
        "newest": f"It was the newest of {knew.get('of')} there",
        "between": f"{knew.get('before_it')} of the {knew.get('of')} there were older",
    }.get(str(knew.get("place")), "")
    if where and knew.get("place") != "only":
        discipline = (
            "FIFO" if page.startswith("Tr") and page in priorities else knew.get("discipline")
        )
        where += f", and the discipline was {discipline}." if discipline else "."
    return " ".join(filter(None, (*words, where)))


def facts(knew: Mapping[str, Any], page: str) -> dict[str, Any]:
    """What the policy knew, for a table: rows by queue, and the admission policy's figures."""
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
