"""Queries of the raw logs of results, within limits on memory and time.

This process reads small logs. A child process with limits reads large logs. Only one such process
runs at a time, because all people share the console.
"""

import json
import threading
from typing import Any, Final

from common import bounded
from common.bounded import BoundedError, Bounds, BoundsExceededError
from lab.analysis import logs
from lab.console.results.result_list import ResultEntry
from lab.errors import ExperimentError
from lab.results.comparison import ComparisonResult

SMALL_ROWS: Final = 200_000
"""The maximum number of rows that this process reads for one query, in about 30 MiB."""
SMALL_BYTES: Final = 32 * 2**20
"""The maximum uncompressed size of these rows, in bytes."""
BOUNDS: Final = Bounds(
    memory_bytes=1536 * 2**20,
    cpu_s=120,
    wall_s=300,
    answer_bytes=32 * 2**20,
    file_bytes=2**30,
    is_idle=True,
)
"""The limits for one query. The limits are high enough for a run with ten million attempts."""
_TURN_S: Final = 120.0
_ONE_AT_A_TIME = threading.Lock()


def ask(result: ResultEntry, question: str, *, large: bool = False, **asked: object) -> Any:
    """Return the answer of `lab.analysis.logs.<question>` for this result.

    A child process always answers a question that is marked as `large`. Raises ExperimentError if a
    log is damaged or too large.
    """
    argument = {"path": str(result.path), **asked}
    run = asked.get("run")
    try:
        if large or not _is_small(result, run if isinstance(run, str) else None):
            return _of_child(f"lab.analysis.logs:{question}", argument)
        # A child's answer is JSON, too. The conversion finds values without a JSON form.
        return json.loads(json.dumps(getattr(logs, question)(argument)))
    except ExperimentError as fault:
        raise type(fault)(result.shown(str(fault))) from None
    except Exception as fault:  # any exception of a damaged file concerns only this result
        raise ExperimentError(f"{result.name}: {type(fault).__name__}: {fault}") from None


def rows_of(path: str) -> Any:
    """Return the rows that the results database stores about a result. A child process reads them.
    Raises ExperimentError if a log is damaged or too large."""
    return _of_child("lab.database.rows:rows_of", path)


def _is_small(result: ResultEntry, run: str | None) -> bool:
    rows, size_bytes = logs.size(ComparisonResult(result.path), run)
    return rows <= SMALL_ROWS and size_bytes <= SMALL_BYTES


def _of_child(function: str, argument: object) -> Any:
    if not _ONE_AT_A_TIME.acquire(timeout=_TURN_S):
        raise ExperimentError(
            "The console is reading other large logs; try again in a few minutes."
        )
    try:
        return bounded.call(function, argument, BOUNDS)
    except BoundsExceededError as fault:
        raise ExperimentError(
            f"The result's logs are too large for the console: {fault}. The command line has no "
            "such limit. Use doorbuster results draw FOLDER."
        ) from None
    except BoundedError as fault:
        raise ExperimentError(str(fault)) from None
    finally:
        _ONE_AT_A_TIME.release()
