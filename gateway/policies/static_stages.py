"""Static stages, a policy between 8Q-LIFO-Pri and DOOR: eight queues in a fixed order."""

from collections.abc import Mapping

from gateway.policies.base import Line
from gateway.policies.discipline import CPU_LOWER_THRESHOLD, CPU_UPPER_THRESHOLD, OverloadSwitch
from gateway.policies.eight_queues import CAPACITIES, UTILITY, EightQueues
from gateway.policies.hands import HANDS, Hands
from gateway.policies.interface import Dispatch, Outcome, Page, Verdicts
from gateway.policies.sheet import Parameter, Sheet


class StaticStages(EightQueues):
    """8Q-LIFO-Pri with a concurrency limit and a fixed order of queues, the latest page first."""

    def __init__(
        self,
        *,
        browsing_capacity: int,
        transaction_capacity: int,
        hands: int,
        **thresholds: float,
    ) -> None:
        super().__init__(
            STATIC_STAGES.name,
            browsing_capacity=browsing_capacity,
            transaction_capacity=transaction_capacity,
            utility=UTILITY,
            switch=OverloadSwitch(**thresholds),
        )
        self._hands = Hands(hands)

    def workers_free(self, time_s: float, free: int) -> Verdicts:
        return super().workers_free(time_s, min(free, self._hands.free))

    def completion(self, time_s: float, id: int, outcome: Outcome) -> Verdicts:
        self._hands.release(id)
        return super().completion(time_s, id, outcome)

    def snapshot(self) -> Mapping[str, object]:
        figures = {k: v for k, v in super().snapshot().items() if k != "dynamic_priority"}
        return {**figures, "hands": self._hands.limit, "hands_busy": self._hands.busy}

    def _dispatch(self) -> Dispatch:
        verdict = super()._dispatch()
        self._hands.take(verdict.id)
        return verdict

    def _next(self) -> tuple[Line, Page]:
        return next((line, page) for line, _, page in self._by_lateness if len(line))


STATIC_STAGES = Sheet(
    name="static-stages",
    title="Static stages",
    idea="This is 8Q-LIFO-Pri with a fixed order of the queues: the latest page comes first.",
    rule="dispatch only while the number of requests in service is below the concurrency limit "
    "hands. Serve the queue of the latest page that has requests. Transaction queues are FIFO; "
    "browsing queues are LIFO once the utilisation is above cpu_upper_threshold, and FIFO again "
    "once it is below cpu_lower_threshold. Drop an arrival whose queue is full",
    source="this project: a step towards DOOR; queues and switch as in LIFO-Pri, scheme 3",
    deviations="none",
    parameters=(
        *CAPACITIES,
        CPU_UPPER_THRESHOLD,
        CPU_LOWER_THRESHOLD,
        Parameter(
            HANDS.name,
            30,
            HANDS.unit,
            "maximum number of requests in service",
            "LIFO-Pri's 30 workers, so the default adds no further limit",
            HANDS.low,
            HANDS.high,
        ),
    ),
)
