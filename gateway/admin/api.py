"""The answers to the calls of the admin API (docs/admin-api.md). The API first checks the
token, if the call needs one, and the web page that sent the call.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol
from urllib.parse import parse_qsl, unquote

from common.http_api import Call, CallError, Callers, checked
from gateway import plain_json
from gateway.admin import calls, models
from gateway.admin.models import ALL_SHADOWS, ONE_POLICY, SMALL, WantedPolicy
from gateway.http.request_reader import RequestHead
from gateway.plain_json import Most, PlainJsonError
from gateway.policies import Abandonment, PolicyError, registry
from gateway.policies.interface import Policy
from gateway.queues.policy_choice import PolicyChoice
from gateway.shadow.shadows import ShadowsError
from gateway.students.reading_room import FullError, ReadingRoom
from gateway.turns import ChangeOrder, OvertakenError

LARGEST_CALL_BYTES: Final = ALL_SHADOWS.size_bytes
OPEN: Final = tuple(call.path.encode() for call in calls.CALLS if call.is_open)
"""The paths of the calls for health checks and Prometheus, which need no token."""

_Handler = Callable[[bytes], "Answer | Awaitable[Answer]"]


@dataclass(frozen=True, slots=True)
class Answer:
    """The admin API's answer to a call."""

    status: int
    body: bytes
    content_type: bytes = b"application/json"
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Controlled(Protocol):
    """The operations of a gateway that callers of the admin API can request."""

    @property
    def is_draining(self) -> bool: ...

    @property
    def reading_room(self) -> ReadingRoom:
        """The thread in which students' files are read."""

    def snapshot(self) -> Mapping[str, object]: ...

    def queue(self, limit: int) -> Mapping[str, object]:
        """Return the `limit` oldest waiting requests."""

    def metrics_text(self) -> bytes: ...

    def switch_policy(self, choice: PolicyChoice) -> None:
        """Switch the policy; raise PolicyError and change nothing if the choice is invalid."""

    async def switch_later(self, choose: Callable[[], PolicyChoice]) -> None:
        """Read a student's policy, start its process, and switch to the policy.

        Raises PolicyError for an invalid choice, FullError if too many calls wait, and
        OvertakenError if a later call finished first.
        """

    def make_shadow(self, choice: PolicyChoice) -> Policy:
        """Return a new policy for a shadow; raise PolicyError if the choice is invalid."""

    def replace_shadows(self, made: Sequence[tuple[PolicyChoice, Policy]]) -> None:
        """Run exactly these shadows from now on. All must differ. A listed shadow that already runs
        continues.
        """

    def add_shadow(self, choice: PolicyChoice, policy: Policy) -> None:
        """Add a shadow; raise ShadowsError and change nothing if the shadow already runs or
        there are too many shadows.
        """

    def take_shadow_away(self, name: str) -> None:
        """Remove the shadow of this name; if the name is unknown, raise ShadowsError and change
        nothing.
        """

    def shadows(self) -> Mapping[str, object]:
        """Return the shadows' metrics and latest disagreements."""

    def switch_connection_admission(
        self, name: str, parameters: Mapping[str, object]
    ) -> Mapping[str, object]:
        """Switch the admission policy for TLS connections and return the new policy; if the choice
        is invalid, raise PolicyError and change nothing.
        """

    def change(
        self,
        *,
        time_scale: float | None,
        utilisation_interval_s: float | None,
        abandonment: Abandonment | None,
    ) -> Mapping[str, object]:
        """Change the settings that are not None, and return the settings in force."""


def _json(status: int, value: object) -> Answer:
    return Answer(status, json.dumps(value).encode() + b"\n")


def failed(fault: BaseException) -> Answer:
    """Return the one-line answer to a call that failed because of a fault in the gateway."""
    text = " ".join(f"{type(fault).__name__}: {fault}".split())
    return _json(500, {"error": f"the gateway could not carry out the call: {text:.300}"})


def _later(error: OvertakenError | FullError) -> Answer:
    if isinstance(error, FullError):
        return _json(503, {"error": str(error), "field": "body", "allowed": error.allowed})
    return _json(409, {"error": str(error), "field": "body", "allowed": "the same call again"})


class AdminApi:
    """The admin API of one gateway, which answers calls."""

    def __init__(self, gateway: Controlled, callers: Callers) -> None:
        self._gateway = gateway
        self._callers = callers
        self.shadow_order = ChangeOrder()
        # A handler receives the body of a PUT or POST, the query of a GET, or the end of a
        # DELETE's path.
        self._calls: dict[str, dict[str, _Handler]] = {}
        for call, handler in self._handlers().items():
            self._calls.setdefault(call.path.partition("{")[0], {})[call.method] = handler

    def _handlers(self) -> dict[Call, _Handler]:
        return {
            calls.HEALTH: self._health,
            calls.SNAPSHOT: lambda _: _json(200, self._gateway.snapshot()),
            calls.WAITING: self._get_waiting,
            calls.POLICIES: lambda _: _json(200, registry.describe()),
            calls.ADMISSIONS: lambda _: _json(200, registry.describe_admissions()),
            calls.CONNECTION_ADMISSIONS: lambda _: _json(
                200, registry.describe_connection_admissions()
            ),
            calls.SWITCH_POLICY: self._put_policy,
            calls.SHADOWS: lambda _: _json(200, self._gateway.shadows()),
            calls.REPLACE_SHADOWS: self._put_shadows,
            calls.ADD_SHADOW: self._post_shadow,
            calls.REMOVE_SHADOW: self._delete_shadow,
            calls.SWITCH_CONNECTION_ADMISSION: self._put_connection_admission,
            calls.CHANGE_SETTINGS: self._put_settings,
            calls.METRICS: self._metrics,
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
                raise CallError(f"this path has no method {method}", "method", allowed, 405)
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
        if self._gateway.is_draining:
            return _json(503, {"status": "draining"})
        return _json(200, {"status": "ok"})

    def _get_waiting(self, query: bytes) -> Answer:
        given = dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True))
        return _json(200, self._gateway.queue(checked(models.WaitingQuery, given).limit))

    def _metrics(self, _: bytes) -> Answer:
        return Answer(
            200, self._gateway.metrics_text(), b"text/plain; version=0.0.4; charset=utf-8"
        )

    def _put_policy(self, body: bytes) -> Answer | Awaitable[Answer]:
        wanted = checked(WantedPolicy, _read(body, ONE_POLICY))
        if wanted.is_own:
            return self._own_policy(wanted)
        try:
            self._gateway.switch_policy(wanted.choose())
        except PolicyError as error:
            raise _of_policy(error, wanted.field_of(error)) from None
        return _json(200, self._gateway.snapshot()["policy"])

    async def _own_policy(self, wanted: WantedPolicy) -> Answer:
        try:
            await self._gateway.switch_later(wanted.choose)
        except PolicyError as error:
            return _refused(_of_policy(error, wanted.field_of(error)))
        except (OvertakenError, FullError) as error:
            return _later(error)
        return _json(200, self._gateway.snapshot()["policy"])

    def _put_shadows(self, body: bytes) -> Answer | Awaitable[Answer]:
        wanted = checked(models.WantedShadows, _read(body, ALL_SHADOWS)).policies

        def make() -> list[tuple[PolicyChoice, Policy]]:
            return [
                self._shadow(policy, f"policies.{place}.") for place, policy in enumerate(wanted)
            ]

        turn = self.shadow_order.ask()
        if any(policy.is_own for policy in wanted):
            return self._own_shadows(make, turn)
        return self._shadows_made(make(), turn)

    async def _own_shadows(
        self, make: Callable[[], list[tuple[PolicyChoice, Policy]]], turn: int
    ) -> Answer:
        try:
            return self._shadows_made(await self._gateway.reading_room.do(make), turn)
        except CallError as error:
            return _refused(error)
        except (OvertakenError, FullError) as error:
            return _later(error)

    def _post_shadow(self, body: bytes) -> Answer | Awaitable[Answer]:
        wanted = checked(WantedPolicy, _read(body, ONE_POLICY))
        turn = self.shadow_order.ask()
        if wanted.is_own:
            return self._own_shadow(wanted, turn)
        return self._shadow_added(self._shadow(wanted), turn)

    async def _own_shadow(self, wanted: WantedPolicy, turn: int) -> Answer:
        try:
            return self._shadow_added(
                await self._gateway.reading_room.do(lambda: self._shadow(wanted)), turn
            )
        except CallError as error:
            return _refused(error)
        except (OvertakenError, FullError) as error:
            return _later(error)

    def _shadow_added(self, made: tuple[PolicyChoice, Policy], turn: int) -> Answer:
        self.shadow_order.check(turn)
        try:
            self._gateway.add_shadow(*made)
        except ShadowsError as error:
            raise CallError(str(error), "name", error.allowed, 409) from None
        self.shadow_order.add(turn)
        return _json(200, self._gateway.shadows())

    def _delete_shadow(self, name: bytes) -> Answer:
        try:
            self._gateway.take_shadow_away(unquote(name.decode("latin-1")))
        except ShadowsError as error:
            text = f"{error}; allowed: {error.allowed}"
            raise CallError(text, "name", error.allowed, 404) from None
        self.shadow_order.add(self.shadow_order.ask())
        return _json(200, self._gateway.shadows())

    def _shadow(self, wanted: WantedPolicy, where: str = "") -> tuple[PolicyChoice, Policy]:
        try:
            choice = wanted.choose()
            return choice, self._gateway.make_shadow(choice)
        except PolicyError as error:
            raise _of_policy(error, where + wanted.field_of(error)) from None

    def _shadows_made(self, made: list[tuple[PolicyChoice, Policy]], turn: int) -> Answer:
        places: dict[str, int] = {}
        for place, (choice, _) in enumerate(made):
            if choice.label in places:
                field, other = f"policies.{place}", f"policies.{places[choice.label]}"
                raise CallError(
                    f"{field}: is the same policy as {other}", field, "a different policy"
                )
            places[choice.label] = place
        self.shadow_order.take(turn)
        self._gateway.replace_shadows(made)
        return _json(200, self._gateway.shadows())

    def _put_connection_admission(self, body: bytes) -> Answer:
        wanted = checked(models.WantedConnectionAdmission, _read(body, SMALL))
        try:
            in_force = self._gateway.switch_connection_admission(wanted.name, wanted.parameters)
        except PolicyError as error:
            raise _of_policy(error, wanted.field_of(error)) from None
        return _json(200, in_force)

    def _put_settings(self, body: bytes) -> Answer:
        wanted = checked(models.WantedSettings, _read(body, SMALL))
        return _json(
            200,
            self._gateway.change(
                time_scale=wanted.time_scale,
                utilisation_interval_s=wanted.utilisation_interval_s,
                abandonment=wanted.abandonment,
            ),
        )


_ONE_SHADOW: Final = calls.REMOVE_SHADOW.path.partition("{")[0].encode()


def _refused(error: CallError) -> Answer:
    headers = tuple((name.encode(), value.encode()) for name, value in error.headers.items())
    return Answer(error.status, _json(error.status, error.answer).body, headers=headers)


def _texts(head: RequestHead, name: bytes) -> list[str]:
    return [value.decode("latin-1") for value in head.values(name)]


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
