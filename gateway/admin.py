"""The admin API's calls (docs/architecture.md), and who may make them.

Owns: paths, methods, JSON in and out, the check that no web page drives it through a browser.
Must not know: sockets; how the gateway does what it is asked.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, get_args
from urllib.parse import parse_qsl

from gateway.policies import registry
from gateway.policies.interface import Abandonment
from gateway.policies.registry import PolicyError
from gateway.policy_choice import PolicyChoice
from gateway.request_reader import RequestHead
from gateway.students import files

TIME_SCALE = (0.001, 1000.0)
UTILISATION_INTERVAL_S = (0.01, 3600.0)
LISTED = (1, 1000)
USUALLY_LISTED = 200
ABANDONMENTS: Final[tuple[Abandonment, ...]] = get_args(Abandonment)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the admin API says to one call."""

    status: int
    body: bytes
    content_type: bytes = b"application/json"
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Controlled(Protocol):
    """What can be asked of a gateway."""

    @property
    def is_draining(self) -> bool: ...

    def snapshot(self) -> Mapping[str, object]: ...

    def queue(self, limit: int) -> Mapping[str, object]:
        """The `limit` oldest requests that wait."""

    def metrics_text(self) -> bytes: ...

    def switch_policy(self, choice: PolicyChoice) -> None:
        """Raises PolicyError and changes nothing."""

    async def switch_later(self, choose: Callable[[], PolicyChoice]) -> None:
        """The same for a student's file, which takes a while to read and to start."""

    def switch_connection_admission(
        self, name: str, parameters: Mapping[str, object]
    ) -> Mapping[str, object]:
        """Gives what is in force now; raises PolicyError and changes nothing."""

    def change(
        self,
        *,
        time_scale: float | None,
        utilisation_interval_s: float | None,
        abandonment: Abandonment | None,
    ) -> Mapping[str, object]:
        """Changes what is not None; gives what holds now."""


class CallError(Exception):
    """A call that cannot be obeyed: one line, the field it is about, what would be allowed."""

    def __init__(self, message: str, field: str, allowed: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status
        self.answer = {"error": message, "field": field, "allowed": allowed}


def _json(status: int, value: object) -> Answer:
    return Answer(status, json.dumps(value).encode() + b"\n")


class AdminApi:
    """Answers calls to one gateway."""

    def __init__(self, gateway: Controlled, hosts: frozenset[str]) -> None:
        """`hosts` are the names, without port, under which the API may be called."""
        self._gateway = gateway
        self._hosts = hosts
        # A PUT is given its body, a GET its query.
        self._calls: dict[bytes, dict[bytes, Callable[[bytes], Answer | Awaitable[Answer]]]] = {
            b"/health": {b"GET": self._health},
            b"/snapshot": {b"GET": lambda _: _json(200, self._gateway.snapshot())},
            b"/waiting": {b"GET": self._get_waiting},
            b"/policies": {b"GET": lambda _: _json(200, registry.describe())},
            b"/admissions": {b"GET": lambda _: _json(200, registry.describe_admissions())},
            b"/connection-admissions": {
                b"GET": lambda _: _json(200, registry.describe_connection_admissions())
            },
            b"/policy": {b"PUT": self._put_policy},
            b"/connection-admission": {b"PUT": self._put_connection_admission},
            b"/settings": {b"PUT": self._put_settings},
            b"/metrics": {b"GET": self._metrics},
        }

    def answer(self, head: RequestHead, body: bytes) -> Answer | Awaitable[Answer]:
        """The answer to a call, or what will be it; never raises on anything a caller can send."""
        try:
            self._check_caller(head)
            path, _, query = head.target.partition(b"?")
            methods = self._calls.get(path)
            if methods is None:
                paths = ", ".join(path.decode() for path in self._calls)
                raise CallError("no such call", "path", paths, 404)
            method = b"GET" if head.method == b"HEAD" else head.method
            if method not in methods:
                allowed = b", ".join(methods)
                refusal = _json(
                    405, {"error": "wrong method", "field": "method", "allowed": allowed.decode()}
                )
                return Answer(405, refusal.body, headers=((b"Allow", allowed),))
            if method == b"PUT" and not self._is_json(head):
                raise CallError(
                    "the body must be JSON and say so", "Content-Type", "application/json", 415
                )
            return methods[method](body if method == b"PUT" else query)
        except CallError as error:
            return _json(error.status, error.answer)

    def _check_caller(self, head: RequestHead) -> None:
        """Refuses what a web page could make a browser send.

        A page of another site carries its Origin; one whose name has been rebound to this address
        carries its own name in Host (DNS rebinding).
        """
        host = (head.host or b"").decode("latin-1").lower()
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        if name.strip("[]") not in self._hosts:
            raise CallError("called by a foreign name", "Host", ", ".join(sorted(self._hosts)), 403)
        for origin in head.values(b"origin"):
            if origin.decode("latin-1").lower() != f"http://{host}":
                raise CallError("called from a foreign page", "Origin", f"http://{host}", 403)

    @staticmethod
    def _is_json(head: RequestHead) -> bool:
        types = head.values(b"content-type")
        return len(types) == 1 and types[0].partition(b";")[0].strip() == b"application/json"

    def _health(self, _: bytes) -> Answer:
        if self._gateway.is_draining:
            return _json(503, {"status": "draining"})
        return _json(200, {"status": "ok"})

    def _get_waiting(self, query: bytes) -> Answer:
        given = dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True))
        given = _object(given, "", ("limit",))
        text = given.get("limit", str(USUALLY_LISTED))
        low, high = LISTED
        if not (text.isascii() and text.isdigit() and len(text) < 10 and low <= int(text) <= high):
            allowed = f"a whole number from {low} to {high}"
            raise CallError(f"limit: {text!r} is not {allowed}", "limit", allowed)
        return _json(200, self._gateway.queue(int(text)))

    def _metrics(self, _: bytes) -> Answer:
        return Answer(
            200, self._gateway.metrics_text(), b"text/plain; version=0.0.4; charset=utf-8"
        )

    def _put_policy(self, body: bytes) -> Answer | Awaitable[Answer]:
        call = _object(_read(body), "", ("name", "parameters", "admission", "source"))
        source = call.get("source")
        if source is not None and not isinstance(source, str):
            raise CallError("source: must be text", "source", "the text of a policy's file")
        admission = {"name": registry.NO_ADMISSION}
        if "admission" in call:
            admission = _object(call["admission"], "admission", ("name", "parameters"))
        chosen = (
            *_named(call, "", registry.POLICIES),
            *_named(admission, "admission.", registry.ADMISSIONS),
        )
        if files.is_path(chosen[0]):
            return self._own_policy(lambda: PolicyChoice.of(*chosen, source))
        try:
            self._gateway.switch_policy(PolicyChoice(*chosen))
        except PolicyError as error:
            raise _refused_policy(error) from None
        return _json(200, self._gateway.snapshot()["policy"])

    async def _own_policy(self, choose: Callable[[], PolicyChoice]) -> Answer:
        try:
            await self._gateway.switch_later(choose)
        except PolicyError as error:
            return _json(400, _refused_policy(error).answer)
        return _json(200, self._gateway.snapshot()["policy"])

    def _put_connection_admission(self, body: bytes) -> Answer:
        call = _object(_read(body), "", ("name", "parameters"))
        name, parameters = _named(call, "", registry.CONNECTION_ADMISSIONS)
        try:
            return _json(200, self._gateway.switch_connection_admission(name, parameters))
        except PolicyError as error:
            field = error.field.removeprefix("connection_admission_")
            field = "name" if field == "connection_admission" else field
            text = f"{field}: {error.message}; allowed: {error.allowed}"
            raise CallError(text, field, error.allowed) from None

    def _put_settings(self, body: bytes) -> Answer:
        fields = ("time_scale", "utilisation_interval_s", "abandonment")
        call = _object(_read(body), "", fields)
        return _json(
            200,
            self._gateway.change(
                time_scale=_number(call, "time_scale", TIME_SCALE),
                utilisation_interval_s=_number(
                    call, "utilisation_interval_s", UTILISATION_INTERVAL_S
                ),
                abandonment=_abandonment(call),
            ),
        )


def _read(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise CallError("the body is not JSON", "body", "a JSON object") from None


def _object(value: object, where: str, fields: tuple[str, ...]) -> dict[str, Any]:
    """`value` as an object with no other than these fields; `where` is its own field, if any."""
    if not isinstance(value, dict):
        what = where or "body"
        raise CallError(f"{what}: must be a JSON object", what, "a JSON object")
    for name in value:
        if name not in fields:
            field = f"{where}.{name}".lstrip(".")
            raise CallError(f"{field}: no such field", field, ", ".join(fields))
    return value


def _named(
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


def _refused_policy(error: PolicyError) -> CallError:
    field = _call_field(error.field)
    return CallError(f"{field}: {error.message}; allowed: {error.allowed}", field, error.allowed)


def _call_field(field: str) -> str:
    """Where in a call stands what the registry calls `field`."""
    if field.startswith("admission_"):
        return field.replace("_", ".", 1)
    return {"policy": "name", "admission": "admission.name"}.get(field, field)


def _number(call: dict[str, Any], field: str, bounds: tuple[float, float]) -> float | None:
    if field not in call:
        return None
    value = call[field]
    low, high = bounds
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        allowed = f"a number from {low:g} to {high:g}"
        raise CallError(f"{field}: {value!r} is not {allowed}", field, allowed)
    return float(value)


def _abandonment(call: dict[str, Any]) -> Abandonment | None:
    value = call.get("abandonment")
    for known in ABANDONMENTS:
        if value == known:
            return known
    if "abandonment" in call:
        allowed = ", ".join(ABANDONMENTS)
        raise CallError(f"abandonment: {value!r} is none of {allowed}", "abandonment", allowed)
    return None
