"""The admin API's calls (docs/architecture.md), and who may make them.

Owns: paths, methods, JSON in and out, the check that no web page drives it through a browser.
Must not know: sockets; how the gateway does what it is asked.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from gateway.policies import registry
from gateway.policies.registry import PolicyError
from gateway.request_reader import RequestHead

TIME_SCALE = (0.001, 1000.0)
UTILISATION_INTERVAL_S = (0.01, 3600.0)


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

    def metrics_text(self) -> bytes: ...

    def switch_policy(self, name: str, parameters: Mapping[str, object]) -> None:
        """Raises PolicyError and changes nothing."""

    def set_time(
        self, *, time_scale: float | None, utilisation_interval_s: float | None
    ) -> Mapping[str, float]:
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
        self._calls: dict[bytes, dict[bytes, Callable[[bytes], Answer]]] = {
            b"/health": {b"GET": self._health},
            b"/snapshot": {b"GET": lambda _: _json(200, self._gateway.snapshot())},
            b"/policies": {b"GET": lambda _: _json(200, registry.describe())},
            b"/policy": {b"PUT": self._put_policy},
            b"/settings": {b"PUT": self._put_settings},
            b"/metrics": {b"GET": self._metrics},
        }

    def answer(self, head: RequestHead, body: bytes) -> Answer:
        """The answer to a call; never raises on anything a caller can send."""
        try:
            self._check_caller(head)
            methods = self._calls.get(head.target.partition(b"?")[0])
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
            return methods[method](body)
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

    def _metrics(self, _: bytes) -> Answer:
        return Answer(
            200, self._gateway.metrics_text(), b"text/plain; version=0.0.4; charset=utf-8"
        )

    def _put_policy(self, body: bytes) -> Answer:
        call = _object(body, ("name", "parameters"))
        name = call.get("name")
        if not isinstance(name, str):
            known = ", ".join(registry.POLICIES)
            raise CallError("name: a policy's name is needed", "name", known)
        parameters = call.get("parameters", {})
        if not isinstance(parameters, dict):
            raise CallError("parameters: must be a JSON object", "parameters", "a JSON object")
        try:
            self._gateway.switch_policy(name, parameters)
        except PolicyError as error:
            field = "name" if error.field == "policy" else error.field
            raise CallError(str(error), field, error.allowed) from None
        return _json(200, self._gateway.snapshot()["policy"])

    def _put_settings(self, body: bytes) -> Answer:
        call = _object(body, ("time_scale", "utilisation_interval_s"))
        return _json(
            200,
            self._gateway.set_time(
                time_scale=_number(call, "time_scale", TIME_SCALE),
                utilisation_interval_s=_number(
                    call, "utilisation_interval_s", UTILISATION_INTERVAL_S
                ),
            ),
        )


def _object(body: bytes, fields: tuple[str, ...]) -> dict[str, Any]:
    try:
        call = json.loads(body)
    except (ValueError, RecursionError):
        raise CallError("the body is not JSON", "body", "a JSON object") from None
    if not isinstance(call, dict):
        raise CallError("the body is not a JSON object", "body", "a JSON object")
    for field in call:
        if field not in fields:
            raise CallError(f"{field}: no such field", field, ", ".join(fields))
    return call


def _number(call: dict[str, Any], field: str, bounds: tuple[float, float]) -> float | None:
    if field not in call:
        return None
    value = call[field]
    low, high = bounds
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        allowed = f"a number from {low:g} to {high:g}"
        raise CallError(f"{field}: {value!r} is not {allowed}", field, allowed)
    return float(value)
