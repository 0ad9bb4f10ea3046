"""The curves of a result, computed once for as long as its logs stay as they are.

Owns: where they are kept and when they are made anew. Must not know: what a curve is, pages.
"""

import contextlib
import hashlib
import json
import os
import threading
from typing import Any

from lab.console.settings import FOLDER
from lab.console.shelf import Shelved, shelved
from lab.experiments.curves import curves_of
from lab.experiments.errors import ExperimentError
from lab.experiments.machine import code_digest
from lab.experiments.results import ResultFolder, write_text

PLACE = FOLDER / "curves"
_ONE_AT_A_TIME = threading.Lock()


def curves(result: Shelved) -> dict[str, Any]:
    """What `lab.experiments.curves` says of a comparison; raises ExperimentError."""
    with _ONE_AT_A_TIME:  # of a class that looks at once one computes
        return _kept(result)


def _kept(result: Shelved) -> dict[str, Any]:
    stamp = _stamp(result)
    kept = PLACE / f"{result.name}.json"
    try:
        found = json.loads(kept.read_text(encoding="utf-8"))
        if found["stamp"] == stamp:
            return dict(found["curves"])
    except (OSError, ValueError, KeyError, TypeError):
        pass  # not there yet, or cut short: made anew
    made = curves_of(ResultFolder(result.path))
    PLACE.mkdir(parents=True, exist_ok=True)
    write_text(kept, json.dumps({"stamp": stamp, "curves": made}, separators=(",", ":")))
    return made


def warm(name: str) -> None:
    """Compute them before anybody asks, on what others leave of the CPUs; returns when it is done.

    A result that has none is left alone; why, is told to who opens its page.
    """
    result = shelved(name)
    if result is None or result.is_reproduction:
        return

    def compute() -> None:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))  # of this thread alone
        with contextlib.suppress(ExperimentError, KeyError):
            curves(result)

    thread = threading.Thread(target=compute, name="curves")
    thread.start()
    thread.join()


def forget(name: str) -> None:
    """The result is deleted."""
    (PLACE / f"{name}.json").unlink(missing_ok=True)


def _stamp(result: Shelved) -> str:
    digest = hashlib.sha256(code_digest().encode())
    for path in [result.path / "spec.toml", *sorted(result.path.glob("runs/*/run.json"))]:
        try:
            changed_ns = path.stat().st_mtime_ns
        except OSError as fault:
            raise ExperimentError(f"{path} cannot be read ({fault.strerror}).") from None
        digest.update(f"{path.parent.name} {changed_ns}\n".encode())
    return digest.hexdigest()
