"""The protocol between applications and the CPU manager: one JSON object per line (UTF-8).

docs/edragon.md describes the protocol. The answer to an invalid message names the faulty field.

Source: `cpus_request` and `cpus_assigned` of Guitart et al., 2008, section 3.1, with
a socket instead of shared memory.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass

LONGEST_LINE_BYTES = 64 * 1024
"""The maximum length of a line in bytes, with its newline; the receiver closes a connection that
exceeds it.
"""
MOST_PROCESSORS = 1_000_000
"""The maximum number of requested processors; the machine may have fewer."""
MOST_CPU = 8191
"""The highest CPU number that Linux allows."""

APPLICATION_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
_NAME_RULE = (
    "1 to 64 letters, digits, dots, dashes or underscores, beginning with a letter or digit"
)


class ProtocolError(ValueError):
    """The error for an invalid message, with the fault, its field and the allowed values."""

    def __init__(self, error: str, field: str, allowed: str) -> None:
        super().__init__(f"{field}: {error}; allowed: {allowed}" if field else error)
        self.error = error
        self.field = field
        self.allowed = allowed


# ---- from an application -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Register:
    """An application's registration, the first message of each of its connections.

    `priority` is the application's weight (P_i). `process` is the id of a process. The manager
    binds this process and its descendants to processors. `processors` are the CPU numbers of the
    latest assignment, or None.
    """

    application: str
    priority: float
    process: int
    processors: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class CpusRequest:
    """`cpus_request`: the number of processors that the application needs (R_i)."""

    processors: int


@dataclass(frozen=True, slots=True)
class CpusAssigned:
    """`cpus_assigned`: the request for the number of assigned processors (A_i)."""


@dataclass(frozen=True, slots=True)
class StatusWanted:
    """The request for the state of all applications, for tools without a registration."""


FromApplication = Register | CpusRequest | CpusAssigned | StatusWanted


# ---- from the manager ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Assigned:
    """The assignment to an application. `assigned` is the number of processors (A_i); a shared
    processor counts as a half. `processors` are the CPU numbers.
    """

    assigned: float
    processors: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """The answer to a message that the manager refused."""

    error: str
    field: str
    allowed: str


@dataclass(frozen=True, slots=True)
class Status:
    """The manager's whole state, as values that JSON can express."""

    status: Mapping[str, object]


FromManager = Assigned | Refused | Status


def written(message: FromApplication | FromManager) -> bytes:
    """Return the message as a line of JSON."""
    content: dict[str, object]
    match message:
        case Register():
            content = {"register": asdict(message)}
        case CpusRequest(processors):
            content = {"request": processors}
        case CpusAssigned():
            content = {"assigned": None}
        case StatusWanted():
            content = {"status": None}
        case Assigned() | Refused() | Status():
            content = asdict(message)
    return json.dumps(content, allow_nan=False).encode() + b"\n"


def from_application(line: bytes) -> FromApplication:
    """Return the message of an application; raise ProtocolError if it is invalid."""
    kind, content = _only_field(_object(line), ("register", "request", "assigned", "status"))
    if kind == "register":
        return _register(content)
    if kind == "request":
        return CpusRequest(_whole(content, "request", 0, MOST_PROCESSORS))
    if content is not None:
        raise ProtocolError("must not have a value", kind, "null")
    return CpusAssigned() if kind == "assigned" else StatusWanted()


def from_manager(line: bytes) -> FromManager:
    """Return the message of the manager; raise ProtocolError if it is invalid."""
    content = _object(line)
    if "error" in content:
        _no_others(content, ("error", "field", "allowed"))
        return Refused(*(_text(content, name) for name in ("error", "field", "allowed")))
    if "status" in content:
        _no_others(content, ("status",))
        status = content["status"]
        if not isinstance(status, dict):
            raise ProtocolError("is not an object", "status", "an object")
        return Status(status)
    _no_others(content, ("assigned", "processors"))
    assigned = _number(content.get("assigned"), "assigned")
    if assigned < 0 or assigned * 2 != int(assigned * 2):
        raise ProtocolError(f"is {assigned!r}", "assigned", "0, 0.5, 1, 1.5, …")
    return Assigned(assigned, _cpus(content.get("processors"), "processors"))


def _register(content: object) -> Register:
    if not isinstance(content, dict):
        raise ProtocolError("is not an object", "register", "an object")
    _no_others(content, ("application", "priority", "process", "processors"))
    name = content.get("application")
    if not isinstance(name, str) or not re.fullmatch(APPLICATION_NAME, name):
        raise ProtocolError(f"is {_shown(name)}", "application", _NAME_RULE)
    priority = _number(content.get("priority"), "priority")
    if not 0 < priority <= MOST_PROCESSORS:
        raise ProtocolError(f"is {priority!r}", "priority", f"above 0, up to {MOST_PROCESSORS}")
    process = _whole(content.get("process"), "process", 1, 2**31 - 1)
    had = content.get("processors")
    return Register(name, priority, process, None if had is None else _cpus(had, "processors"))


def _object(line: bytes) -> dict[str, object]:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        raise ProtocolError("is not JSON", "message", "one JSON object per line") from None
    if not isinstance(content, dict):
        raise ProtocolError("is not an object", "message", "one JSON object per line")
    return content


def _only_field(content: dict[str, object], names: tuple[str, ...]) -> tuple[str, object]:
    _no_others(content, names)
    if len(content) != 1:
        raise ProtocolError(f"has {len(content)} fields", "message", f"one of {', '.join(names)}")
    ((name, value),) = content.items()
    return name, value


def _no_others(content: dict[str, object], names: tuple[str, ...]) -> None:
    for name in content:
        if name not in names:
            raise ProtocolError("no such field", _shown(name), ", ".join(names))


def _number(value: object, field: str) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        number = float(value) if is_number else math.nan  # type: ignore[arg-type]
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ProtocolError(f"is {_shown(value)}", field, "a number")
    return number


def _whole(value: object, field: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ProtocolError(f"is {_shown(value)}", field, f"a whole number from {least} to {most}")
    return value


def _cpus(value: object, field: str) -> tuple[int, ...]:
    allowed = f"a list of different CPU numbers from 0 to {MOST_CPU}"
    if not isinstance(value, list):
        raise ProtocolError(f"is {_shown(value)}", field, allowed)
    for cpu in value:
        if isinstance(cpu, bool) or not isinstance(cpu, int) or not 0 <= cpu <= MOST_CPU:
            raise ProtocolError(f"has {_shown(cpu)}", field, allowed)
    if len(set(value)) != len(value):
        raise ProtocolError("has a CPU twice", field, allowed)
    return tuple(value)


def _text(content: dict[str, object], name: str) -> str:
    value = content.get(name)
    if not isinstance(value, str):
        raise ProtocolError(f"is {_shown(value)}", name, "text")
    return value


def _shown(value: object) -> str:
    """Return a value as it was sent, shortened if it is long."""
    try:
        text = json.dumps(value)
    except ValueError:  # a number with too many digits
        text = "a huge number"
    return text if len(text) <= 80 else text[:77] + "..."
