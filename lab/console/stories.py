"""The story of one attempt in words: what the policy knew, why it served, held or refused it.

Owns: the wording, and keeping a story that was made. Must not know: requests, how a run is watched.
"""

import hashlib
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gateway.policies.interface import PAGES
from gateway.policies.registry import NO_ADMISSION, admission_sheet, sheet
from gateway.policies.sheet import Sheet
from lab.console.settings import FOLDER, LAB
from lab.console.shelf import Shelved
from lab.experiments.errors import ExperimentError
from lab.experiments.explaining import Story, Wanted
from lab.experiments.machine import code_digest
from lab.experiments.results import PlannedRun, ResultFolder, write_text
from lab.experiments.spec_sections import PolicyChoice
from lab.experiments.titles import title_of
from runtime import pinned

PLACE = FOLDER / "stories"
MOST_KEPT = 500
_ONE_AT_A_TIME = threading.Lock()
NOT_KNOWN = (
    "A live run keeps what the gateway knew once in each utilisation interval, not at every "
    "decision: who stood before this request, who was preferred to it and what the policy knew "
    "at that very moment is not known any more. The same spec simulated shows every decision."
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """Something that happened, at a time; `knew` is what the policy knew then."""

    time_s: float
    head: str
    text: str
    knew: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """A policy's sheet with the parameters of this run."""

    title: str
    sheet: Sheet
    values: Mapping[str, Any]


def sheets(choice: PolicyChoice) -> list[Known]:
    """Of the queueing policy and, where there is one, of the admission policy before it."""
    queueing = sheet(choice.name)
    found = [Known(title_of(choice.name), queueing, queueing.read(choice.parameters))]
    if choice.admission != NO_ADMISSION:
        door = admission_sheet(choice.admission)
        values = door.read(choice.admission_parameters)
        found.insert(0, Known(title_of(choice.admission), door, values))
    return found


def told(result: Shelved, planned: PlannedRun, attempt: Mapping[str, Any]) -> dict[str, Any]:
    """`sentences`, `answer` and `preferred` of an attempt of a simulated run.

    The first time it takes as long as the run took. Raises ExperimentError.
    """
    story = _kept(result, planned, attempt)
    if not story.same_run:
        raise ExperimentError(
            "This version of Doorbuster makes another run of the same spec and seed than the one "
            "that was kept (see Machine and versions), so that it cannot say what happened in it. "
            "Run it again and look there."
        )
    if not story.found:
        raise ExperimentError("No policy was asked about this one: books' covers take no worker.")
    spec = ResultFolder(result.path).spec()
    abandonment = spec.abandonment_of(spec.choice(planned.policy))
    return {
        "answer": _answer(story),
        "sentences": _sentences(story, attempt, abandonment),
        "preferred": [
            one | {"knew": _facts(one["knew"], attempt["page"])} for one in story.preferred[-5:]
        ],
    }


def logged(result: Shelved, planned: PlannedRun, attempt: Mapping[str, Any]) -> dict[str, Any]:
    """`samples` around an attempt of a live run, the run's `events`, and `not_known`."""
    run = ResultFolder(result.path).run(planned)
    columns = run.samples().to_pydict()
    times = columns["time_s"]
    # The sampler starts a little before the customers: the first arrival is both clocks' mark.
    arrived = columns["arrived_total"]
    first = next((i for i, count in enumerate(arrived) if count > arrived[0]), 0)
    shift_s = times[first] if times else 0.0
    low_s, high_s = attempt["started_s"] + shift_s, attempt["finished_s"] + shift_s
    near = [i for i, time_s in enumerate(times) if low_s - 2 <= time_s <= high_s + 2]
    step = max(1, len(near) // 12)
    return {
        "samples": [
            {
                "time_s": times[i] - shift_s,
                "discipline": columns["discipline"][i],
                "cpu": columns["cpu_utilisation_ratio"][i],
                "in_service": columns["in_service"][i],
                "waiting": columns["waiting"][i],
                "own": columns.get(f"waiting_{attempt['page']}", [None] * len(times))[i],
                "admits": columns["admits"][i],
                "predicted": columns["predicted_utilisation_ratio"][i],
            }
            for i in near[::step]
        ],
        "events": result.events(run),
        "not_known": NOT_KNOWN,
    }


def _kept(result: Shelved, planned: PlannedRun, attempt: Mapping[str, Any]) -> Story:
    wanted = Wanted(
        *(attempt[name] for name in ("session", "step", "attempt", "page", "started_s"))
    )
    run = ResultFolder(result.path).run(planned)
    told_of = [result.name, planned.folder, run.summary_file.stat().st_mtime_ns, code_digest()]
    digest = hashlib.sha256(json.dumps([told_of, asdict(wanted)]).encode()).hexdigest()[:32]
    path = PLACE / f"{digest}.json"
    try:
        return Story(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        pass  # not told yet
    with _ONE_AT_A_TIME:  # a class that asks at once must not take the machine
        text = _explained(result, planned, wanted)
    story = Story(**json.loads(text))
    PLACE.mkdir(parents=True, exist_ok=True)
    kept = sorted(PLACE.glob("*.json"), key=lambda one: one.stat().st_mtime)
    for old in kept[: max(0, len(kept) - MOST_KEPT)]:
        old.unlink(missing_ok=True)
    write_text(path, text)
    return story


def _explained(result: Shelved, planned: PlannedRun, wanted: Wanted) -> str:
    """Simulated in an idle process on the CPUs that are not the shop's, as launches are."""
    words = [str(result.path), planned.folder, json.dumps(asdict(wanted))]
    program = [sys.executable, "-m", "lab.experiments.explaining", *words]
    done = subprocess.run(
        pinned.command(LAB.other_cpus, program, end_with_parent=signal.SIGTERM, idle=True),
        cwd=Path(__file__).parents[2],
        env=LAB.environment(),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise ExperimentError(said[-1] if said else "It cannot be explained.")
    return done.stdout


# ---- wording -------------------------------------------------------------------------------------


def _answer(story: Story) -> str:
    """In one sentence."""
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


def _sentences(story: Story, attempt: Mapping[str, Any], abandonment: str) -> list[Sentence]:
    page = attempt["page"]
    assert story.arrived_s is not None
    knew = story.knew_at_arrival
    text = f"{_queue(knew, page)} {_load(story)}"
    if story.refused == "reject":
        text += f" The verdict: reject, “{story.reason}”."
    elif story.refused:
        text += f" The verdict: drop, “{story.reason}”."
    else:
        text += " No verdict: it waits."
    sentences = [Sentence(story.arrived_s, "It came", text, _facts(knew, page))]
    for time_s, discipline in story.disciplines[1:]:
        sentences.append(
            Sentence(
                time_s, "The discipline changed", f"From now on {discipline}, while it waited."
            )
        )
    if story.served_before or story.overtook:
        sentences.append(_held(story))
    if story.left_s is not None:
        sentences.append(Sentence(story.left_s, "Its customer left", _left(story, abandonment)))
    if story.dispatched_s is not None:
        sentences.append(
            Sentence(
                story.dispatched_s,
                "A worker took it",
                _served(story.knew_at_dispatch, page),
                _facts(story.knew_at_dispatch, page),
            )
        )
    if story.ended_s is not None:
        sentences.append(Sentence(story.ended_s, "Its work ended", _ENDS[story.outcome]))
    return sorted(sentences, key=lambda one: one.time_s)


_ENDS = {
    "answered": "The customer got the page.",
    "orphaned": "The page was made in full, and nobody was there to get it.",
    "failed": "There was no usable answer.",
    "cancelled": "It was stopped before it was done.",
}


def _queue(knew: Mapping[str, Any], page: str) -> str:
    queues, places = knew.get("queues", {}), knew.get("capacities", {})
    own = page if page in queues else "all"
    name = f"queue {page}" if page in queues else "the one queue"
    if own not in queues:
        return ""
    words = f"In {name} {queues[own]} of {places.get(own, '?')} places were taken"
    discipline = knew.get("discipline")
    return f"{words}; the discipline was {discipline}." if discipline else f"{words}."


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


def _facts(knew: Mapping[str, Any], page: str) -> dict[str, Any]:
    """What the policy knew, for a table: rows by queue, and the admission policy's figures."""
    queues = knew.get("queues", {})
    order = [name for name in (*PAGES, "all") if name in queues]
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
