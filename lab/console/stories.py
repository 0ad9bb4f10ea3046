"""The story of one attempt: what the policy knew, why it served, held or refused it.

Owns: having a story made, keeping it, what is left of a live run's. Must not know: requests, how a
run is watched, the wording (`story_words`).
"""

import hashlib
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gateway.policies.registry import NO_ADMISSION, admission_sheet, sheet
from gateway.policies.sheet import Sheet
from gateway.students.naming import sheet_of_file
from lab.console.settings import FOLDER, LAB
from lab.console.shelf import Shelved
from lab.console.story_words import answer, facts, sentences
from lab.experiments.errors import ExperimentError
from lab.experiments.explaining import Story, Wanted
from lab.experiments.machine import code_digest
from lab.experiments.peers import sheets as peers
from lab.experiments.peers.sheets import PEERS
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
class Known:
    """A policy's sheet with the parameters of this run."""

    title: str
    sheet: Sheet
    values: Mapping[str, Any]


def sheets(choice: PolicyChoice) -> list[Known]:
    """Of the queueing policy and, where there is one, of the admission policy before it.

    Or of the peer in the gateway's place.
    """
    if choice.gateway is not None:
        values = peers.read(choice.gateway, choice.parameters)
        return [Known(title_of(choice.gateway), PEERS[choice.gateway].sheet, values)]
    queueing = sheet_of_file(choice.file) if choice.file is not None else sheet(choice.name)
    found = [Known(title_of(choice.policy_name), queueing, queueing.read(choice.parameters))]
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
        "answer": answer(story),
        "sentences": sentences(story, attempt, abandonment),
        "preferred": [
            one | {"knew": facts(one["knew"], attempt["page"])} for one in story.preferred[-5:]
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
