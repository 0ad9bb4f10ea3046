"""Traces of single requests (docs/telemetry.md): a traced exchange sends spans when it ends."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from common.telemetry.trace_context import TraceContext, is_sampled, trace_id_of
from gateway.http.exchange import Event, Exchange, State
from gateway.http.response_reader import ResponseHead
from gateway.policies.interface import Outcome

if TYPE_CHECKING:  # a gateway without traces does not need OpenTelemetry's libraries
    from common.telemetry.export import SpanExport

_VERDICTS: Final = (Event.STARTED, Event.REFUSED, Event.WITHDRAWN)


@dataclass(frozen=True, slots=True)
class Tracer:
    """A tracer, which chooses requests by their ids and exports their spans."""

    export: "SpanExport"
    sampled_ratio: float
    policy: Callable[[], str]
    """A function that returns the name of the policy in force."""

    def samples(self, request_id: bytes) -> bool:
        return is_sampled(trace_id_of(request_id), self.sampled_ratio)


class TracedExchange(Exchange):
    """An exchange that sends its spans when it ends: one for the request, one for the wait in the
    queue and, if the request was in service, one for the service. A request that never reached its
    queue has no spans.
    """

    __slots__ = (
        "_began_ns",
        "_decided_ns",
        "_ended_ns",
        "_policy",
        "_queue_name",
        "_queued_ns",
        "_reason",
        "_root",
        "_shop",
        "_status",
        "_tracer",
    )

    def __init__(self, tracer: Tracer, queue_name: str, *about: Any, **more_about: Any) -> None:
        """Begin the trace; `queue_name` is `policy` or a bypass's name; see `Exchange` for the
        rest.
        """
        super().__init__(*about, **more_about)
        self._tracer = tracer
        self._queue_name = queue_name
        self._root = TraceContext.of_request(self.request_id)
        self._shop = self._root.child()
        self.traceparent = self._shop.traceparent().encode()
        self._began_ns = self._queued_ns = self._decided_ns = self._ended_ns = time.time_ns()
        self._policy = ""
        self._reason = ""
        self._status: int | None = None

    def start(self) -> bool:
        is_wanted = super().start()
        if not is_wanted:
            self._send(Outcome.CANCELLED.value, is_served=False)
        return is_wanted

    def dropped(self, reason: str) -> None:
        self._reason = reason
        super().dropped(reason)
        self._send("dropped", is_served=False)

    def rejected(self, reason: str, retry_after_s: float) -> None:
        self._reason = reason
        super().rejected(reason, retry_after_s)
        self._send("rejected", is_served=False)

    def withdrawn(self) -> None:
        super().withdrawn()
        self._send("withdrawn", is_served=False)

    def begin(self, head: ResponseHead) -> bytes:
        self._status = head.status
        return super().begin(head)

    def _answer(self, status: int, page: bytes, headers: tuple[tuple[bytes, bytes], ...]) -> None:
        if self.customer is not None:
            self._status = status
        super()._answer(status, page, headers)

    def _finish(self, event: Event, outcome: Outcome) -> None:
        super()._finish(event, outcome)
        self._send(outcome.value, is_served=True)

    def _move(self, event: Event) -> State:
        before = super()._move(event)
        self._ended_ns = time.time_ns()
        if event is Event.SUBMITTED:
            self._queued_ns = self._ended_ns
        elif event in _VERDICTS:
            self._decided_ns = self._ended_ns
            self._policy = self._tracer.policy()
        return before

    def _send(self, fate: str, *, is_served: bool) -> None:
        head, add = self.head, self._tracer.export.add
        method = head.method.decode()
        request: dict[str, str | int] = {
            "http.request.method": method,
            "url.path": head.target.partition(b"?")[0].decode("latin-1"),
            "doorbuster.request_id": self.request_id.decode(),
            "doorbuster.fate": fate,
        }
        if self.page is not None:
            request["doorbuster.page"] = self.page.value
        if self._status is not None:
            request["http.response.status_code"] = self._status
        wait: dict[str, str | int] = {
            "doorbuster.queue": self._queue_name,
            "doorbuster.verdict": "dispatched" if is_served else fate,
        }
        if self.page is not None:
            wait["doorbuster.policy"] = self._policy
        if self._reason:
            wait["doorbuster.reason"] = self._reason
        root, has_failed = self._root, fate == Outcome.FAILED.value
        add(
            f"{method} {self.page or self._queue_name}",
            root,
            None,
            self._began_ns,
            self._ended_ns,
            kind="server",
            attributes=request,
            has_failed=has_failed,
        )
        add("queue", root.child(), root, self._queued_ns, self._decided_ns, attributes=wait)
        if is_served:
            add(
                "shop",
                self._shop,
                root,
                self._decided_ns,
                self._ended_ns,
                kind="client",
                attributes={"doorbuster.outcome": fate},
                has_failed=has_failed,
            )
