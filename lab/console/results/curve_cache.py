"""The cache for curves, which change only with the spec, a run or the code."""

import contextlib
import hashlib
import json
import os
import threading
from typing import Any

from lab.console.results.logs import ask
from lab.console.results.result_list import ResultEntry, entry_of
from lab.console.site.settings import FOLDER
from lab.errors import ExperimentError
from lab.files.documents import read_json, write_text
from lab.machine.description import code_digest
from lab.report.drawing.palette import colour_of

PLACE = FOLDER / "curves"
_ONE_AT_A_TIME = threading.Lock()


def curves(result: ResultEntry) -> dict[str, Any]:
    """Return the curves of a comparison (`lab.analysis.curves`), with a `colour` for each line.
    Raises ExperimentError if the logs or the stored curves cannot be read."""
    if result.reference and result.computed_curves.is_file():
        found = _shipped(result)
    else:
        found = _kept(result) or _computed(result)
    lines = [{**line, "colour": colour_of(str(line.get("policy")))} for line in found["lines"]]
    return {**found, "lines": lines}


def _shipped(result: ResultEntry) -> dict[str, Any]:
    """Return the stored curves of a reference result. Raises ExperimentError if they cannot be
    read."""
    found = read_json(result.computed_curves)
    if not isinstance(found, dict) or not isinstance(found.get("lines"), list):
        raise ExperimentError(f"{result.name}/{result.computed_curves.name} holds no curves")
    return found


def _kept(result: ResultEntry) -> dict[str, Any] | None:
    """Return the curves in the cache, or None if they are missing, damaged or out of date."""
    try:
        found = json.loads((PLACE / f"{result.name}.json").read_text(encoding="utf-8"))
        return dict(found["curves"]) if found["stamp"] == _stamp(result) else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _computed(result: ResultEntry) -> dict[str, Any]:
    with _ONE_AT_A_TIME:
        # If a class requests the curves at once, one thread computes and the others wait for it.
        if (found := _kept(result)) is not None:
            return found
        stamp = _stamp(result)
        made: dict[str, Any] = ask(result, "curves")
        PLACE.mkdir(parents=True, exist_ok=True)
        kept = PLACE / f"{result.name}.json"
        write_text(kept, json.dumps({"stamp": stamp, "curves": made}, separators=(",", ":")))
        return made


def warm(name: str) -> None:
    """Compute the curves of a result in advance, in idle CPU time, and wait until they are
    complete. A failure is ignored, because the result's page shows the reason."""
    result = entry_of(name)
    if result is None or result.is_reproduction:
        return

    def compute() -> None:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))  # for this thread only
        with contextlib.suppress(ExperimentError):
            curves(result)

    thread = threading.Thread(target=compute, name="curves")
    thread.start()
    thread.join()


def forget(name: str) -> None:
    """Remove the curves of a deleted result."""
    (PLACE / f"{name}.json").unlink(missing_ok=True)


def _stamp(result: ResultEntry) -> str:
    digest = hashlib.sha256(code_digest().encode())
    for path in [result.path / "spec.toml", *sorted(result.path.glob("runs/*/run.json"))]:
        try:
            changed_ns = path.stat().st_mtime_ns
        except OSError as fault:
            raise ExperimentError(f"{path} cannot be read ({fault.strerror}).") from None
        digest.update(f"{path.parent.name} {changed_ns}\n".encode())
    return digest.hexdigest()
