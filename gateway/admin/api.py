"""The API that carries out and answers the calls (docs/admin-api.md). The API first checks the web
page that sent the call, and then the token, if the call needs one.
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar
from urllib.parse import parse_qsl, unquote

from common.http_api import Call, CallError, Callers, checked
from gateway import plain_json
from gateway.admin import calls, models
from gateway.admin.figures import GatewayFigures
from gateway.admin.metrics import GatewayMetrics
from gateway.admin.models import ALL_SHADOWS, ONE_POLICY, SMALL, WantedPolicy
from gateway.admin.slow_calls import ChangeOrder, FullError, OvertakenError, ReadingRoom
from gateway.http.request_reader import RequestHead
from gateway.parts import Parts
from gateway.plain_json import Most, PlainJsonError
from gateway.policies import ADMISSIONS, CONNECTION_ADMISSIONS, POLICIES, PolicyError, registry
from gateway.policies.interface import Policy
from gateway.queues.policy_choice import PolicyChoice, PolicyInForce
from gateway.shadow.shadows import ShadowsError, policy_of_shadow

LARGEST_CALL_BYTES: Final = ALL_SHADOWS.size_bytes
OPEN: Final = tuple(call.path.encode() for call in calls.CALLS if call.is_open)
"""The paths of the calls for health checks and Prometheus, which need no token."""

T = TypeVar("T")
_Handler = Callable[[bytes], "Answer | Awaitable[Answer]"]


@dataclass(frozen=True, slots=True)
class Answer:
    """The admin API's answer to a call."""

    status: int
    body: bytes
    content_type: bytes = b"application/json"
    headers: tuple[tuple[bytes, bytes], ...] = ()


def _json(status: int, value: object) -> Answer:
    return Answer(status, json.dumps(value).encode() + b"\n")


def failed(fault: BaseException) -> Answer:
    """Return the one-line answer to a call that failed because of a fault in the gateway."""
    text = " ".join(f"{type(fault).__name__}: {fault}".split())
    return _json(500, {"error": f"the gateway could not carry out the call: {text:.300}"})


class AdminApi:
    """The admin API of one gateway, which answers calls."""

    def __init__(
        self,
        parts: Parts,
        in_force: PolicyInForce,
        figures: GatewayFigures,
        metrics: GatewayMetrics,
        callers: Callers,
    ) -> None:
        self._parts = parts
        self._in_force = in_force
        self._figures = figures
        self._metrics = metrics
        self._callers = callers
        self.shadow_order = ChangeOrder()
        self._policy_order = ChangeOrder()
        self.reading_room = ReadingRoom()
        # A handler receives the body of a PUT or POST, the query of a GET, or the end of a
        # DELETE's path.
        self._calls: dict[str, dict[str, _Handler]] = {}
        for call, handler in self._handlers().items():
            self._calls.setdefault(call.path.partition("{")[0], {})[call.method] = handler

    def _handlers(self) -> dict[Call, _Handler]:
        return {
            calls.HEALTH: self._health,
            calls.SNAPSHOT: lambda _: _json(200, self._figures.snapshot()),
            calls.WAITING: self._get_waiting,
            calls.POLICIES: lambda _: _json(200, registry.describe(POLICIES)),
            calls.ADMISSIONS: lambda _: _json(200, registry.describe(ADMISSIONS)),
            calls.CONNECTION_ADMISSIONS: lambda _: _json(
                200, registry.describe(CONNECTION_ADMISSIONS)
            ),
            calls.SWITCH_POLICY: self._put_policy,
            calls.SHADOWS: lambda _: self._shadows(),
            calls.REPLACE_SHADOWS: self._put_shadows,
            calls.ADD_SHADOW: self._post_shadow,
            calls.REMOVE_SHADOW: self._delete_shadow,
            calls.SWITCH_CONNECTION_ADMISSION: self._put_connection_admission,
            calls.CHANGE_SETTINGS: self._put_settings,
            calls.METRICS: self._get_metrics,
            calls.OPENAPI: lambda _: _json(200, calls.document()),
        }

    def answer(self, head: RequestHead, body: bytes) -> Answer | Awaitable[Answer]:
        """Return the answer to a call, or an awaitable of the answer. Invalid calls get an error as
        their answer.
        """
        try:
            self._callers.check_site((head.host or b"").decode("latin-1"), _texts(head, b"origin"))
            path, _, given = head.target.partition(b"?")
            if path not in OPEN:
                self._callers.check_token(_texts(head, b"authorization"))
            if path.startswith(_ONE_SHADOW):
                path, given = _ONE_SHADOW, path.removeprefix(_ONE_SHADOW)
            methods = self._calls.get(path.decode("latin-1"))
            if methods is None:
                paths = ", ".join(self._calls)
                raise CallError(f"no such call: {path.decode('latin-1')}", "path", paths, 404)
            method = "GET" if head.method == b"HEAD" else head.method.decode("latin-1")
            if method not in methods:
                allowed = ", ".join(methods)
                raise CallError(
                    f"this path does not accept the method {method}", "method", allowed, 405
                )
            has_body = method in ("PUT", "POST")
            if has_body and not self._is_json(head):
                raise CallError(
                    "the body must be JSON, sent as application/json",
                    "Content-Type",
                    "application/json",
                    415,
                )
            return methods[method](body if has_body else given)
        except CallError as error:
            return _refused(error)

    @staticmethod
    def _is_json(head: RequestHead) -> bool:
        types = head.values(b"content-type")
        return len(types) == 1 and types[0].partition(b";")[0].strip() == b"application/json"

    def _health(self, _: bytes) -> Answer:
        if self._parts.connections.is_draining:
            return _json(503, {"status": "draining"})
        return _json(200, {"status": "ok"})

    def _get_waiting(self, query: bytes) -> Answer:
        given = dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True))
        return _json(200, self._figures.queue(checked(models.WaitingQuery, given).limit))

    def _get_metrics(self, _: bytes) -> Answer:
        text = self._metrics.text()
        return Answer(200, text, b"text/plain; version=0.0.4; charset=utf-8")

    def _put_policy(self, body: bytes) -> Answer | Awaitable[Answer]:
        wanted = checked(WantedPolicy, _read(body, ONE_POLICY))
        turn = self._policy_order.ask()

        def switch(made: tuple[PolicyChoice, Policy]) -> Answer:
            self._policy_order.take(turn)
            self._switch_policy(*made)
            return _json(200, self._figures.policy_in_force())

        return self._made(
            lambda: _policy(wanted, self._in_force.make), switch, is_slow=wanted.is_own
        )

    def _switch_policy(self, choice: PolicyChoice, policy: Policy) -> None:
        try:
            self._parts.pages.switch(policy)
        finally:
            # False if the policy has already failed.
            if self._parts.pages.dispatcher.policy is policy:
                self._in_force.choice = choice
                self._metrics.switched(policy.name)
                self._guard()

    def _guard(self) -> None:
        """Use signed cookies only if the policy uses sessions or a shadow is listed."""
        self._parts.sessions.guard(
            self._in_force.choice.needs_sessions or bool(self._parts.shadow_policies.entries)
        )

    def _put_shadows(self, body: bytes) -> Answer | Awaitable[Answer]:
        wanted = checked(models.WantedShadows, _read(body, ALL_SHADOWS)).policies
        turn = self.shadow_order.ask()

        def make() -> list[tuple[PolicyChoice, Policy]]:
            return [
                _policy(policy, self._make_shadow, f"policies.{place}.")
                for place, policy in enumerate(wanted)
            ]

        def replace(made: list[tuple[PolicyChoice, Policy]]) -> Answer:
            _check_different([choice.label for choice, _ in made])
            self.shadow_order.take(turn)
            self._parts.shadow_policies.replace(
                [(choice.label, choice.described(), policy) for choice, policy in made]
            )
            return self._shadows_changed()

        return self._made(make, replace, is_slow=any(policy.is_own for policy in wanted))

    def _post_shadow(self, body: bytes) -> Answer | Awaitable[Answer]:
        wanted = checked(WantedPolicy, _read(body, ONE_POLICY))
        turn = self.shadow_order.ask()

        def add(made: tuple[PolicyChoice, Policy]) -> Answer:
            self.shadow_order.check(turn)
            choice, policy = made
            try:
                self._parts.shadow_policies.add(choice.label, choice.described(), policy)
            except ShadowsError as error:
                raise CallError(str(error), "name", error.allowed, 409) from None
            self.shadow_order.add(turn)
            return self._shadows_changed()

        return self._made(lambda: _policy(wanted, self._make_shadow), add, is_slow=wanted.is_own)

    def _delete_shadow(self, name: bytes) -> Answer:
        try:
            self._parts.shadow_policies.take_away(unquote(name.decode("latin-1")))
        except ShadowsError as error:
            text = f"{error}; allowed: {error.allowed}"
            raise CallError(text, "name", error.allowed, 404) from None
        self.shadow_order.add(self.shadow_order.ask())
        return self._shadows_changed()

    def _make_shadow(self, choice: PolicyChoice) -> Policy:
        return policy_of_shadow(choice, self._in_force.own_policy_s)

    def _shadows_changed(self) -> Answer:
        self._guard()
        self._parts.pages.set_timer()
        return self._shadows()

    def _shadows(self) -> Answer:
        return _json(200, self._figures.shadows())

    def _made(
        self, make: Callable[[], T], use: Callable[[T], Answer], *, is_slow: bool
    ) -> Answer | Awaitable[Answer]:
        """Make policies with `make`, and return the answer of `use` to them. If `is_slow`, as
        for students' policies, the thread of `reading_room` makes them.
        """
        return self._made_slowly(make, use) if is_slow else use(make())

    async def _made_slowly(self, make: Callable[[], T], use: Callable[[T], Answer]) -> Answer:
        try:
            return use(await self.reading_room.do(make))
        except CallError as error:
            return _refused(error)
        except FullError as error:
            return _json(503, {"error": str(error), "field": "body", "allowed": error.allowed})
        except OvertakenError as error:
            allowed = "the same call again"
            return _json(409, {"error": str(error), "field": "body", "allowed": allowed})

    def _put_connection_admission(self, body: bytes) -> Answer:
        wanted = checked(models.WantedConnectionAdmission, _read(body, SMALL))
        try:
            self._parts.gate.replace(wanted.name, wanted.parameters)
        except PolicyError as error:
            raise _of_policy(error, wanted.field_of(error)) from None
        return _json(200, self._parts.gate.described())

    def _put_settings(self, body: bytes) -> Answer:
        wanted = checked(models.WantedSettings, _read(body, SMALL))
        parts = self._parts
        if wanted.time_scale is not None:
            parts.pages.set_time_scale(wanted.time_scale)
            parts.probe.restart_interval()
            parts.gate.reschedule()
        if wanted.utilisation_interval_s is not None:
            parts.probe.interval_s = wanted.utilisation_interval_s
            parts.probe.restart_interval()
        if wanted.abandonment is not None:
            parts.pages.dispatcher.abandonment = wanted.abandonment
            for one in parts.bypasses:
                one.queue.abandonment = wanted.abandonment
        return _json(
            200,
            {
                "time_scale": parts.clock.scale,
                "utilisation_interval_s": parts.probe.interval_s,
                "abandonment": parts.pages.dispatcher.abandonment,
            },
        )


_ONE_SHADOW: Final = calls.REMOVE_SHADOW.path.partition("{")[0].encode()


def _refused(error: CallError) -> Answer:
    headers = tuple((name.encode(), value.encode()) for name, value in error.headers.items())
    return Answer(error.status, _json(error.status, error.answer).body, headers=headers)


def _texts(head: RequestHead, name: bytes) -> list[str]:
    return [value.decode("latin-1") for value in head.values(name)]


def _policy(
    wanted: WantedPolicy, make: Callable[[PolicyChoice], Policy], where: str = ""
) -> tuple[PolicyChoice, Policy]:
    try:
        choice = wanted.choose()
        return choice, make(choice)
    except PolicyError as error:
        raise _of_policy(error, where + wanted.field_of(error)) from None


def _check_different(labels: list[str]) -> None:
    for place, label in enumerate(labels):
        if label in labels[:place]:
            field, other = f"policies.{place}", f"policies.{labels.index(label)}"
            text = f"{field}: is the same policy as {other}"
            raise CallError(text, field, "a different policy")


def _of_policy(error: PolicyError, field: str) -> CallError:
    return CallError(f"{field}: {error.message}; allowed: {error.allowed}", field, error.allowed)


def _read(body: bytes, most: Most) -> object:
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
