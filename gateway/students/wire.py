"""The protocol between the gateway and the child process. A message is its length in 4 bytes,
followed by JSON; events and verdicts are plain values. The gateway does not trust the child. Before
decoding, the gateway checks an answer's size and number of values, because decoding blocks the
event loop. Then the gateway checks the type and size of every value.
"""

import json
import math
import reprlib
import struct
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

from gateway import plain_json
from gateway.plain_json import Most, PlainJsonError
from gateway.policies.interface import (
    NOTHING,
    Cancel,
    Dispatch,
    Drop,
    LoadSample,
    Outcome,
    Page,
    Reject,
    Request,
    Verdict,
    Verdicts,
)
from gateway.policies.sheet import Parameter, Sheet
from gateway.students.limits import MOST_WAITING

HEAD: Final = struct.Struct(">I")
_MOST_ANSWER_BYTES: Final = 4 * 1024 * 1024
"""The maximum size of an answer in bytes; 20,000 verdicts with reasons of 75 characters take 2 MB.
"""
MOST_VERDICTS: Final = 2 * MOST_WAITING
"""The maximum number of verdicts in an answer: twice the number of requests that may wait."""
MOST_REASON: Final = 200
"""The maximum length of a verdict's reason in characters; texts in a data sheet may be five times
as long.
"""
_MOST_TEXT: Final = 5 * MOST_REASON
_MOST_PARAMETERS: Final = 50
_MOST_FIGURES: Final = 100
MOST_RETRY_AFTER_S: Final = 86_400.0


class WireError(ValueError):
    """The error for an invalid message; its text is for the policy's author."""


_BYTES_EACH, _VALUES_EACH = 300, 10
"""The maximum number of bytes and of values per request in an answer; a verdict with a reason has
at most 7 values.
"""


def most_about(requests: int) -> Most:
    """Return the maximum size of an answer about this number of requests."""
    size_bytes = min(_MOST_ANSWER_BYTES, 64 * 1024 + _BYTES_EACH * requests)
    return Most(size_bytes, 16_000 + _VALUES_EACH * requests)


ABOUT_NONE: Final = most_about(0)
"""The maximum size of an answer that is not about requests, such as a snapshot."""
OF_A_FILE: Final = Most(512 * 1024, 100_000)
"""The maximum size of the answer after a file has been read: a data sheet, or impurities."""

_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def packed(message: object) -> bytes:
    """Return the bytes of a message; raise ValueError or TypeError if JSON cannot express it."""
    content = _encode(message).encode()
    return HEAD.pack(len(content)) + content


def unpacked(content: bytes, most: Most) -> Any:
    """Return the message in `content`, which does not include the length. Raises WireError if the
    message is not JSON or is larger than `most`.
    """
    check_size(len(content), most)
    try:
        return plain_json.decoded(content, most.values)
    except PlainJsonError as fault:
        if fault.is_large:
            raise WireError(f"its answer {fault}") from None
        raise WireError("its answer does not have the right form") from None


def check_size(size_bytes: int, most: Most) -> None:
    """Raise WireError for an answer with more bytes than `most`."""
    if size_bytes > most.size_bytes:
        raise WireError(
            f"its answer has more than {most.size_bytes:,} bytes; verdicts on all requests "
            f"need fewer"
        )


def shown(value: object) -> str:
    """Return the beginning of a value as text, however large or deep the value is."""
    return f"{reprlib.repr(value):.80}"


# ---- events: from the gateway to the child -------------------------------------------------------


def plain(value: Any) -> Any:
    """Return an argument of an event as a value that JSON can express."""
    if type(value) is LoadSample:
        return [value.cpu_utilisation_ratio, value.busy_workers, value.interval_s]
    return value


def told(event: str, values: Sequence[Any]) -> tuple[Any, ...]:
    """Return an event's arguments for the policy; the gateway's message is trusted."""
    match event:
        case "arrival":
            return (_request(values[0]),)
        case "completion":
            return values[0], Outcome(values[1])
        case "load_sample":
            return (LoadSample(*values[0]),)
        case "adopt":
            return ([_request(one) for one in values[0]],)
    return tuple(values)


_PAGES: Final = {page.value: page for page in Page}


def _request(row: Sequence[Any]) -> Request:
    return Request(row[0], _PAGES[row[1]], row[2], row[3], row[4], row[5])


# ---- verdicts: from the child to the gateway -----------------------------------------------------

_KINDS: Final = {Dispatch: "dispatch", Drop: "drop", Reject: "reject", Cancel: "cancel"}


_TOO_MANY: Final = f"its answer has more than {MOST_VERDICTS:,} verdicts"


def said(event: str, verdicts: object) -> list[Any]:
    """Return a policy's verdicts as plain values; if their form is wrong, raise WireError, which
    explains the right form.
    """
    if verdicts is None:
        raise WireError(
            f"{event} returned None; return NOTHING, or a tuple of verdicts: (Dispatch(7),)"
        )
    if type(verdicts) in _KINDS:
        raise WireError(f"{event} returned {shown(verdicts)} alone; return a tuple: (verdict,)")
    if not isinstance(verdicts, Sequence) or isinstance(verdicts, str | bytes):
        raise WireError(
            f"{event} returned {type(verdicts).__name__}; return a tuple or a list of verdicts"
        )
    rows: list[Any] = []
    for verdict in verdicts:
        kind = _KINDS.get(type(verdict))
        if kind is None:
            raise WireError(
                f"{event} returned {shown(verdict)} among its verdicts; the verdicts are "
                f"Dispatch, Drop, Reject and Cancel"
            )
        if len(rows) == MOST_VERDICTS:
            raise WireError(_TOO_MANY)
        rows.append([kind, *verdict])
    return rows


def verdicts_of(rows: object) -> Verdicts:
    """Return the verdicts of an answer; raise WireError if it is invalid."""
    if not isinstance(rows, list):
        raise WireError("its answer must be a list of verdicts")
    if len(rows) > MOST_VERDICTS:
        raise WireError(_TOO_MANY)
    return [_verdict(row) for row in rows]


def _verdict(row: object) -> Verdict:
    match row:
        case ["dispatch", int(id)] if _is_id(id):
            return Dispatch(id)
        case ["drop", int(id), str(reason)] if _is_id(id):
            return Drop(id, _reason("Drop", id, reason))
        case ["reject", int(id), str(reason), int() | float() as after_s] if _is_id(id):
            return Reject(id, _reason("Reject", id, reason), _retry_after_s(id, after_s))
        case ["cancel", int(id)] if _is_id(id):
            return Cancel(id)
    raise WireError(
        f"{shown(row)} is not a verdict; the verdicts are Dispatch(id), Drop(id, reason), "
        f"Reject(id, reason, retry_after_s) and Cancel(id)"
    )


def _is_id(id: object) -> bool:
    return type(id) is int and abs(id) <= sys.maxsize


def _reason(kind: str, id: int, reason: str) -> str:
    if not reason or len(reason) > MOST_REASON or not reason.isprintable():
        raise WireError(
            f"the reason of {kind}({id}, …) must have 1 to {MOST_REASON} printable characters: "
            "the customer reads it"
        )
    return reason


def _retry_after_s(id: int, after_s: float) -> float:
    if isinstance(after_s, bool) or not 0 <= after_s <= MOST_RETRY_AFTER_S:
        raise WireError(
            f"retry_after_s of Reject({id}, …) must be from 0 to {MOST_RETRY_AFTER_S:,.0f} s"
        )
    return float(after_s)


def timer_of(value: object) -> float | None:
    """Return the time at which to call `timer_due`; raise WireError if it is invalid."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise WireError(f"next_timer_s returned {shown(value)}; return a time in seconds, or None")
    return float(value)


def decision_of(answer: object) -> tuple[float | None, Verdicts]:
    """Return the time at which the timer is due, and the verdicts on an event; raise WireError if
    the answer is invalid.
    """
    if type(answer) is not list or len(answer) != 2:
        raise WireError("its answer does not have the right form")
    timer_s = timer_of(answer[1])
    return timer_s, verdicts_of(answer[0]) if answer[0] else NOTHING


def waiting_of(answer: object) -> list[int]:
    """Return the ids of the requests that wait according to the policy; raise WireError if the
    answer is invalid.
    """
    if not isinstance(answer, list) or not all(map(_is_id, answer)):
        raise WireError("waiting() must return the waiting requests in order of arrival")
    return answer


MAY_BE_IGNORED: Final = ("completion", "abandonment", "load_sample")
"""The events that a policy may ignore; to save time, the gateway does not send ignored events."""


def made_of(answer: object) -> tuple[float | None, frozenset[str]]:
    """Return the time at which the timer of a new policy is due, and the events that it ignores;
    raise WireError if the answer is invalid.
    """
    if not isinstance(answer, dict) or set(answer) != {"timer_s", "ignores"}:
        raise WireError("its answer does not have the right form")
    ignores = answer["ignores"]
    if not isinstance(ignores, list) or any(one not in MAY_BE_IGNORED for one in ignores):
        raise WireError("its answer does not have the right form")
    return timer_of(answer["timer_s"]), frozenset(ignores)


# ---- a snapshot ----------------------------------------------------------------------------------

_BY_QUEUE: Final = ("queues", "capacities", "dynamic_priority")


def snapshot_of(found: object) -> dict[str, object]:
    """Return a policy's snapshot: `discipline`, the numbers for each queue, and other single
    values. These other values are under `figures`, so that they cannot replace the gateway's names.
    Raises WireError if the snapshot is too large or invalid.
    """
    if not isinstance(found, dict) or len(found) > _MOST_FIGURES:
        raise WireError(f"snapshot() must return a dictionary of at most {_MOST_FIGURES} entries")
    known: dict[str, object] = {}
    figures: dict[str, object] = {}
    for name, value in found.items():
        if name in _BY_QUEUE:
            known[name] = _by_queue(name, value)
        elif name == "discipline":
            known[name] = _text("snapshot()['discipline']", value)
        elif name == "discipline_switches":
            known[name] = _number("snapshot()['discipline_switches']", value)
        else:
            figures[_text("a name in snapshot()", name)] = _figure(f"snapshot()[{name!r}]", value)
    return {**known, "figures": figures}


def _figure(where: str, value: object) -> object:
    if value is None or isinstance(value, bool):
        return value
    return _number(where, value) if isinstance(value, int | float) else _text(where, value)


def _by_queue(name: str, value: object) -> dict[str, float]:
    where = f"snapshot()[{name!r}]"
    if not isinstance(value, dict) or len(value) > _MOST_FIGURES:
        raise WireError(
            f"{where} must be a dictionary with a number for each queue's name, for at most "
            f"{_MOST_FIGURES} queues"
        )
    return {_text(where, queue): _number(where, number) for queue, number in value.items()}


def _number(where: str, value: object) -> float:
    """Return `value`; raise WireError if it is not a finite number that fits into a float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WireError(f"{where} must be a number")
    if not abs(value) <= sys.float_info.max:
        raise WireError(f"{where} must be a finite number of at most {sys.float_info.max:.0e}")
    return value


def _text(where: str, value: object, most: int = MOST_REASON) -> str:
    if not isinstance(value, str) or len(value) > most or not value.isprintable():
        raise WireError(f"{where} must be text of at most {most} printable characters")
    return value


# ---- a file --------------------------------------------------------------------------------------

_MOST_IMPURITIES: Final = 100


def impurities_said(found: Sequence[object]) -> list[str]:
    """Return the lines about impurities for the child's answer; a last line counts the omitted
    lines, if any.
    """
    words = [str(one) for one in found[:_MOST_IMPURITIES]]
    if len(found) > len(words):
        words.append(f"and {len(found) - len(words):,} more lines like these")
    return words


def impurities_of(answer: object) -> list[str]:
    """Return the lines about impurities in an answer; raise WireError if they are not texts."""
    if not isinstance(answer, list) or not all(isinstance(one, str) for one in answer):
        raise WireError("its answer does not have the right form")
    return answer


# ---- a sheet -------------------------------------------------------------------------------------


def sheet_said(sheet: Sheet) -> dict[str, Any]:
    """Return the message with this data sheet for the parent; raise WireError if it is invalid."""
    if not isinstance(sheet, Sheet):
        raise WireError("SHEET must be a Sheet: SHEET = Sheet(name=…, idea=…, rule=…, …)")
    rows = []
    for parameter in sheet.parameters:
        if not isinstance(parameter, Parameter):
            raise WireError("SHEET: parameters: must be a tuple of Parameter(…)")
        row = {field: getattr(parameter, field) for field in _PARAMETER}
        if isinstance(row["default"], Mapping):
            row["default"] = {str(page): value for page, value in row["default"].items()}
        rows.append(row)
    texts = {field: getattr(sheet, field) for field in _SHEET}
    return {**texts, "needs_sessions": sheet.needs_sessions, "parameters": rows}


_SHEET: Final = ("name", "idea", "rule", "source", "deviations")
_PARAMETER: Final = ("name", "default", "unit", "meaning", "source", "low", "high")


def sheet_of(row: object) -> Sheet:
    """Return the data sheet in a message; raise WireError if it is incomplete or invalid."""
    if not isinstance(row, dict) or set(row) != {*_SHEET, "needs_sessions", "parameters"}:
        raise WireError("SHEET is incomplete")
    for field in _SHEET:
        if not _text(f"SHEET: {field}", row[field], _MOST_TEXT).strip():
            raise WireError(f"SHEET: {field} is empty; it must be a short text")
    if not isinstance(row["needs_sessions"], bool):
        raise WireError("SHEET: needs_sessions must be True or False")
    if not isinstance(row["parameters"], list) or len(row["parameters"]) > _MOST_PARAMETERS:
        raise WireError(f"SHEET: parameters: must have at most {_MOST_PARAMETERS} entries")
    parameters = tuple(_parameter(one) for one in row["parameters"])
    if len({one.name for one in parameters}) < len(parameters):
        raise WireError("SHEET: parameters: two parameters have the same name")
    return Sheet(**{**row, "parameters": parameters})


def _parameter(row: object) -> Parameter:
    if not isinstance(row, dict) or set(row) != set(_PARAMETER):
        raise WireError("SHEET: parameters: a parameter is incomplete")
    name = _text("SHEET: a parameter's name", row["name"])
    if not name.isidentifier():
        raise WireError(f"SHEET: {name!r} must be valid as the name of an argument of make()")
    where = f"SHEET: parameter {name}"
    for field in ("unit", "meaning", "source"):
        _text(f"{where}: {field}", row[field], _MOST_TEXT)
    low, high = (_number(f"{where}: {field}", row[field]) for field in ("low", "high"))
    default = row["default"]
    if isinstance(default, dict):
        if set(default) != set(_PAGES):
            raise WireError(
                f"{where}: a default by page type must have a value for each of {', '.join(_PAGES)}"
            )
        default = {_PAGES[page]: _number(where, value) for page, value in default.items()}
    numbers = default.values() if isinstance(default, dict) else (_number(where, default),)
    if not all(low <= number <= high for number in numbers):
        raise WireError(f"{where}: its default must be from {low:g} to {high:g}")
    return Parameter(**{**row, "default": default})
