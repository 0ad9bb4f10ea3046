"""The admin API's calls (docs/architecture.md), and who may make them.

Owns: paths, methods, JSON in and out, the check that no web page drives it through a browser.
Must not know: sockets; how the gateway does what it is asked.
"""

import json
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol
from urllib.parse import parse_qsl, unquote

from common import hosts
from gateway.admin.fields import (
    ALL_SHADOWS,
    ONE_POLICY,
    SMALL,
    CallError,
    PolicyCall,
    abandonment,
    named,
    number,
    object_of,
    read,
)
from gateway.http.request_reader import RequestHead
from gateway.policies import CONNECTION_ADMISSIONS, Abandonment, PolicyError, registry
from gateway.policies.interface import Policy
from gateway.queues.policy_choice import PolicyChoice
from gateway.shadow.shadows import MOST as MOST_SHADOWS
from gateway.shadow.shadows import ShadowsError
from gateway.students.reading_room import FullError, ReadingRoom
from gateway.turns import OvertakenError, Turns

TIME_SCALE: Final = (0.001, 1000.0)
UTILISATION_INTERVAL_S: Final = (0.01, 3600.0)
LISTED = (1, 1000)
USUALLY_LISTED = 200
LARGEST_CALL_BYTES: Final = ALL_SHADOWS.size_bytes
_ONE_SHADOW: Final = b"/shadows/"
OPEN: Final = (b"/health", b"/metrics")
"""Calls that need no token: for health checks and Prometheus."""


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

    @property
    def reading_room(self) -> ReadingRoom:
        """Where students' files are read."""

    def snapshot(self) -> Mapping[str, object]: ...

    def queue(self, limit: int) -> Mapping[str, object]:
        """The `limit` oldest requests that wait."""

    def metrics_text(self) -> bytes: ...

    def switch_policy(self, choice: PolicyChoice) -> None:
        """Raises PolicyError and changes nothing."""

    async def switch_later(self, choose: Callable[[], PolicyChoice]) -> None:
        """The same for a student's file, which takes a while to read and to start.

        Raises OvertakenError, too: what is asked later wins; and FullError.
        """

    def make_shadow(self, choice: PolicyChoice) -> Policy:
        """A policy that is to be a shadow; raises PolicyError."""

    def replace_shadows(self, made: Sequence[tuple[PolicyChoice, Policy]]) -> None:
        """These shadows from now on, no two of one label; those that stay go on as they are."""

    def add_shadow(self, choice: PolicyChoice, policy: Policy) -> None:
        """One more from now on; raises ShadowsError and changes nothing."""

    def take_shadow_away(self, name: str) -> None:
        """All but the one of this name from now on; raises ShadowsError and changes nothing."""

    def shadows(self) -> Mapping[str, object]:
        """Figures and last disagreements of the shadows."""

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


def _json(status: int, value: object) -> Answer:
    return Answer(status, json.dumps(value).encode() + b"\n")


def failed(fault: BaseException) -> Answer:
    """What is said of a fault of the gateway's own, in one line."""
    text = " ".join(f"{type(fault).__name__}: {fault}".split())
    return _json(500, {"error": f"the gateway could not do it: {text:.300}"})


def _later(error: OvertakenError | FullError) -> Answer:
    """The answer to a call that may be made again."""
    if isinstance(error, FullError):
        return _json(503, {"error": str(error), "field": "body", "allowed": error.allowed})
    return _json(409, {"error": str(error), "field": "body", "allowed": "the same call again"})


_TOKEN_WANTED: Final = Answer(
    401,
    _json(
        401,
        {
            "error": "this call needs the inner token: send `Authorization: Bearer TOKEN`; "
            "`make token` prints that line, and the token is inner_token in secrets.json in the "
            "state folder",
            "field": "Authorization",
            "allowed": "Bearer TOKEN",
        },
    ).body,
    headers=((b"WWW-Authenticate", b"Bearer"),),
)


class AdminApi:
    """Answers calls to one gateway."""

    def __init__(
        self, gateway: Controlled, hosts: frozenset[str], token: bytes | None = None
    ) -> None:
        """`hosts` are the names, without port, under which the API may be called; `token` is what
        callers must send, None if they need none."""
        self._gateway = gateway
        self._hosts = hosts
        self._token = token
        self._shadow_turns = Turns()
        # A PUT or POST is given its body, a GET its query.
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
            b"/shadows": {
                b"GET": lambda _: _json(200, self._gateway.shadows()),
                b"PUT": self._put_shadows,
                b"POST": self._post_shadow,
            },
            _ONE_SHADOW: {b"DELETE": self._delete_shadow},
            b"/connection-admission": {b"PUT": self._put_connection_admission},
            b"/settings": {b"PUT": self._put_settings},
            b"/metrics": {b"GET": self._metrics},
        }

    def answer(self, head: RequestHead, body: bytes) -> Answer | Awaitable[Answer]:
        """The answer to a call, or what will be it; never raises on anything a caller can send."""
        try:
            self._check_caller(head)
            path, _, given = head.target.partition(b"?")
            if path not in OPEN and not self._has_token(head):
                return _TOKEN_WANTED
            if path.startswith(_ONE_SHADOW):  # its name is what the call is given
                path, given = _ONE_SHADOW, path.removeprefix(_ONE_SHADOW)
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
            has_body = method in (b"PUT", b"POST")
            if has_body and not self._is_json(head):
                raise CallError(
                    "the body must be JSON and say so", "Content-Type", "application/json", 415
                )
            return methods[method](body if has_body else given)
        except CallError as error:
            return _json(error.status, error.answer)

    def _check_caller(self, head: RequestHead) -> None:
        """Refuses what a web page could make a browser send.

        A page of another site carries its Origin; one whose name has been rebound to this address
        carries its own name in Host (DNS rebinding).
        """
        host = (head.host or b"").decode("latin-1").lower()
        if hosts.host_of(host) not in self._hosts:
            raise CallError("called by a foreign name", "Host", ", ".join(sorted(self._hosts)), 403)
        for origin in head.values(b"origin"):
            if origin.decode("latin-1").lower() != f"http://{host}":
                raise CallError("called from a foreign page", "Origin", f"http://{host}", 403)

    def _has_token(self, head: RequestHead) -> bool:
        if self._token is None:
            return True
        wanted = b"Bearer " + self._token
        return any(secrets.compare_digest(one, wanted) for one in head.values(b"authorization"))

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
        given = object_of(given, "", ("limit",))
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
        call = PolicyCall(read(body, ONE_POLICY))
        if call.is_own:
            return self._own_policy(call)
        try:
            self._gateway.switch_policy(call.choose())
        except PolicyError as error:
            raise call.refused(error) from None
        return _json(200, self._gateway.snapshot()["policy"])

    async def _own_policy(self, call: PolicyCall) -> Answer:
        try:
            await self._gateway.switch_later(call.choose)
        except PolicyError as error:
            return _json(400, call.refused(error).answer)
        except (OvertakenError, FullError) as error:
            return _later(error)
        return _json(200, self._gateway.snapshot()["policy"])

    def _put_shadows(self, body: bytes) -> Answer | Awaitable[Answer]:
        listed = object_of(read(body, ALL_SHADOWS), "", ("policies",)).get("policies")
        if not isinstance(listed, list) or len(listed) > MOST_SHADOWS:
            allowed = f"a list of at most {MOST_SHADOWS} policies"
            raise CallError(f"policies: must be {allowed}", "policies", allowed)
        calls = [PolicyCall(each, f"policies.{number}") for number, each in enumerate(listed)]

        def make() -> list[tuple[PolicyChoice, Policy]]:
            return [self._shadow(call) for call in calls]

        turn = self._shadow_turns.ask()
        if any(call.is_own for call in calls):
            return self._own_shadows(make, turn)
        return self._shadows_made(make(), turn)

    async def _own_shadows(
        self, make: Callable[[], list[tuple[PolicyChoice, Policy]]], turn: int
    ) -> Answer:
        try:
            return self._shadows_made(await self._gateway.reading_room.do(make), turn)
        except CallError as error:
            return _json(error.status, error.answer)
        except (OvertakenError, FullError) as error:
            return _later(error)

    def _post_shadow(self, body: bytes) -> Answer | Awaitable[Answer]:
        call, turn = PolicyCall(read(body, ONE_POLICY)), self._shadow_turns.ask()
        if call.is_own:
            return self._own_shadow(call, turn)
        return self._shadow_added(self._shadow(call), turn)

    async def _own_shadow(self, call: PolicyCall, turn: int) -> Answer:
        try:
            return self._shadow_added(
                await self._gateway.reading_room.do(lambda: self._shadow(call)), turn
            )
        except CallError as error:
            return _json(error.status, error.answer)
        except (OvertakenError, FullError) as error:
            return _later(error)

    def _shadow_added(self, made: tuple[PolicyChoice, Policy], turn: int) -> Answer:
        self._shadow_turns.check(turn)
        try:
            self._gateway.add_shadow(*made)
        except ShadowsError as error:
            raise CallError(str(error), "name", error.allowed, 409) from None
        self._shadow_turns.add(turn)
        return _json(200, self._gateway.shadows())

    def _delete_shadow(self, name: bytes) -> Answer:
        try:
            self._gateway.take_shadow_away(unquote(name.decode("latin-1")))
        except ShadowsError as error:
            text = f"{error}; asked are: {error.allowed}"
            raise CallError(text, "name", error.allowed, 404) from None
        self._shadow_turns.add(self._shadow_turns.ask())
        return _json(200, self._gateway.shadows())

    def _shadow(self, call: PolicyCall) -> tuple[PolicyChoice, Policy]:
        try:
            choice = call.choose()
            return choice, self._gateway.make_shadow(choice)
        except PolicyError as error:
            raise call.refused(error) from None

    def _shadows_made(self, made: list[tuple[PolicyChoice, Policy]], turn: int) -> Answer:
        places: dict[str, int] = {}
        for place, (choice, _) in enumerate(made):
            if choice.label in places:
                field, other = f"policies.{place}", f"policies.{places[choice.label]}"
                raise CallError(f"{field}: is {other} again", field, "another choice")
            places[choice.label] = place
        self._shadow_turns.take(turn)
        self._gateway.replace_shadows(made)
        return _json(200, self._gateway.shadows())

    def _put_connection_admission(self, body: bytes) -> Answer:
        call = object_of(read(body, SMALL), "", ("name", "parameters"))
        name, parameters = named(call, "", CONNECTION_ADMISSIONS)
        try:
            return _json(200, self._gateway.switch_connection_admission(name, parameters))
        except PolicyError as error:
            field = error.field.removeprefix("connection_admission_")
            field = "name" if field == "connection_admission" else field
            text = f"{field}: {error.message}; allowed: {error.allowed}"
            raise CallError(text, field, error.allowed) from None

    def _put_settings(self, body: bytes) -> Answer:
        fields = ("time_scale", "utilisation_interval_s", "abandonment")
        call = object_of(read(body, SMALL), "", fields)
        return _json(
            200,
            self._gateway.change(
                time_scale=number(call, "time_scale", TIME_SCALE),
                utilisation_interval_s=number(
                    call, "utilisation_interval_s", UTILISATION_INTERVAL_S
                ),
                abandonment=abandonment(call),
            ),
        )
