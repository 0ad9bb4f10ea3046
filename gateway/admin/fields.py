"""What a call of the admin API says, field by field.

Owns: reading JSON bodies, what is said of a field that cannot be.
Must not know: calls, the gateway.
"""

import reprlib
from collections.abc import Mapping
from typing import Any, Final, get_args

from gateway import plain_json
from gateway.http.limits import KIB
from gateway.plain_json import Most, PlainJsonError
from gateway.policies import ADMISSIONS, NO_ADMISSION, POLICIES, Abandonment, PolicyError, is_path
from gateway.queues.policy_choice import PolicyChoice
from gateway.shadow.shadows import MOST as MOST_SHADOWS
from gateway.students import files

ABANDONMENTS: Final[tuple[Abandonment, ...]] = get_args(Abandonment)

SMALL: Final = Most(32 * KIB, 1_000)
"""The largest body of a call that brings no file."""
ONE_POLICY: Final = Most(SMALL.size_bytes + 6 * files.MOST_BYTES, SMALL.values)
"""JSON may need six bytes (`\\u0009`) for one of a file."""
ALL_SHADOWS: Final = Most(MOST_SHADOWS * ONE_POLICY.size_bytes, MOST_SHADOWS * SMALL.values)

_MOST_WORDS: Final = 800
"""Characters of each text of an answer."""


class CallError(Exception):
    """A call that cannot be obeyed: one line, the field it is about, what would be allowed."""

    def __init__(self, message: str, field: str, allowed: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status
        words = {"error": message, "field": field, "allowed": allowed}
        self.answer = {name: one_line(text) for name, text in words.items()}


def one_line(text: str) -> str:
    """The text, which may quote what a caller sent, as a line of printable characters."""
    line = "".join(c if c.isprintable() else " " for c in text[:_MOST_WORDS])
    return line + "…" if len(text) > _MOST_WORDS else line


class PolicyCall:
    """A policy as a call asks for it; `where` is the field that has it, empty for the whole body.

    Raises CallError for what no policy could be asked for by.
    """

    def __init__(self, value: object, where: str = "") -> None:
        self._prefix = f"{where}." if where else ""
        prefix = self._prefix
        call = object_of(value, where, ("name", "parameters", "admission", "source"))
        self._source = call.get("source")
        if self._source is not None and not isinstance(self._source, str):
            field = f"{prefix}source"
            raise CallError(f"{field}: must be text", field, "the text of a policy's file")
        admission = {"name": NO_ADMISSION}
        if "admission" in call:
            admission = object_of(call["admission"], f"{prefix}admission", ("name", "parameters"))
        self._chosen = (
            *named(call, prefix, POLICIES),
            *named(admission, f"{prefix}admission.", ADMISSIONS),
        )
        self.is_own = is_path(self._chosen[0])

    def choose(self) -> PolicyChoice:
        """The choice; raises PolicyError. A student's file (`is_own`) takes a while to read."""
        return PolicyChoice.of(*self._chosen, self._source)

    def refused(self, error: PolicyError) -> CallError:
        """What is wrong with it, by the fields of the call."""
        field = self._prefix + _call_field(error.field)
        text = f"{field}: {error.message}; allowed: {error.allowed}"
        return CallError(text, field, error.allowed)


def read(body: bytes, most: Most) -> object:
    """The body of a call, which must be JSON of at most this size."""
    if len(body) > most.size_bytes:
        raise _too_large(f"has {len(body):,} bytes", f"at most {most.size_bytes:,} bytes", 413)
    try:
        return plain_json.decoded(body, most.values)
    except PlainJsonError as fault:
        if fault.is_large:
            raise _too_large(str(fault), f"at most {most.values:,} values", 400) from None
        raise CallError("the body is not JSON", "body", "a JSON object") from None


def _too_large(what: str, allowed: str, status: int) -> CallError:
    return CallError(f"the body {what}; allowed: {allowed}", "body", allowed, status)


def object_of(value: object, where: str, fields: tuple[str, ...]) -> dict[str, Any]:
    """`value` as an object with no other than these fields; `where` is its own field, if any."""
    if not isinstance(value, dict):
        what = where or "body"
        raise CallError(f"{what}: must be a JSON object", what, "a JSON object")
    for name in value:
        if name not in fields:
            field = f"{where}.{name}".lstrip(".")
            raise CallError(f"{field}: no such field", field, ", ".join(fields))
    return value


def named(
    call: dict[str, Any], prefix: str, known: Mapping[str, object]
) -> tuple[str, dict[str, Any]]:
    """(name, parameters) of a policy of either kind."""
    name = call.get("name")
    if not isinstance(name, str):
        field = f"{prefix}name"
        raise CallError(f"{field}: a policy's name is needed", field, ", ".join(known))
    parameters = call.get("parameters", {})
    if not isinstance(parameters, dict):
        field = f"{prefix}parameters"
        raise CallError(f"{field}: must be a JSON object", field, "a JSON object")
    return name, parameters


def _call_field(field: str) -> str:
    """Where in a call stands what the registry calls `field`."""
    if field.startswith("admission_"):
        return field.replace("_", ".", 1)
    return {"policy": "name", "admission": "admission.name"}.get(field, field)


def number(call: dict[str, Any], field: str, bounds: tuple[float, float]) -> float | None:
    """The number of a field, None where it is not given."""
    if field not in call:
        return None
    value = call[field]
    low, high = bounds
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        allowed = f"a number from {low:g} to {high:g}"
        raise CallError(f"{field}: {reprlib.repr(value)} is not {allowed}", field, allowed)
    return float(value)


def abandonment(call: dict[str, Any]) -> Abandonment | None:
    """What leaving is to do, None where it is not given."""
    value = call.get("abandonment")
    for known in ABANDONMENTS:
        if value == known:
            return known
    if "abandonment" in call:
        allowed = ", ".join(ABANDONMENTS)
        raise CallError(
            f"abandonment: {reprlib.repr(value)} is none of {allowed}", "abandonment", allowed
        )
    return None
