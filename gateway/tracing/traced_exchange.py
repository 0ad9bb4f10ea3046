"""Exchanges whose traces are exported (docs/telemetry.md). A traced exchange records the time of
each event, and sends its spans once its fate is known.
"""

import time
from typing import Final

from common.telemetry.trace_context import TraceContext
from gateway.http.exchange import CustomerSide, Event, Exchange, RequestQueue, State
from gateway.http.request_reader import RequestHead
from gateway.http.response_context import ResponseContext
from gateway.http.response_reader import ResponseHead
from gateway.policies.interface import Outcome
from gateway.tracing.tracer import Tracer

_VERDICTS: Final = (Event.STARTED, Event.REFUSED, Event.WITHDRAWN)


class TracedExchange(Exchange):
    """An exchange that sends its spans when it ends: for the request, for the wait in the queue,
    and for the service in the shop, if any. A request that never reached its queue has no spans.
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

    def __init__(
        self,
        tracer: Tracer,
        queue_name: str,
        context: ResponseContext,
        customer: CustomerSide,
        head: RequestHead,
        *,
        peer: bytes,
        queue: RequestQueue,
        request_id: bytes,
    ) -> None:
        """Begin the trace; `queue_name` is `policy`, or the name of a bypass."""
        super().__init__(context, customer, head, peer=peer, queue=queue, request_id=request_id)
        self._tracer = tracer
        self._queue_name = queue_name
        self._root = TraceContext.of_request(request_id)
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
