"""Policies that limit the number of requests in the system, as in Netflix' concurrency-limits.

An arrival is dropped if the limit is reached; admitted requests wait in one FIFO queue. The limit
is fixed, or it changes by AIMD (additive increase, multiplicative decrease) or with a gradient.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

from gateway.policies import PolicyError
from gateway.policies.base import UNBOUNDED, IgnoringPolicy, Line, oldest_first
from gateway.policies.discipline import Discipline
from gateway.policies.interface import NOTHING, Dispatch, Drop, Outcome, Request, Verdicts
from gateway.policies.sheet import Parameter, Sheet, parameters


class Limit(Protocol):
    """A limit on the number of requests in the system, waiting or in service."""

    @property
    def value(self) -> int:
        """The present limit in requests, which is at least 1."""

    def ended(self, time_s: float, response_s: float, in_flight: int, is_lost: bool) -> None:
        """Handle the end of a request. `response_s` is the time since its arrival. `in_flight` is
        the number of requests in the system at its arrival, including this request. A request is
        lost if its customer got no valid answer.
        """

    def figures(self) -> Mapping[str, object]:
        """Return the limit's part of the snapshot."""


class Inside(NamedTuple):
    """A request in the system: its arrival time, and the number of requests in the system at that
    time, including this request.
    """

    arrived_s: float
    in_flight: int


class LimitedLine(IgnoringPolicy):
    """A FIFO queue that drops an arrival if the number of requests in the system has reached the
    limit.
    """

    def __init__(self, name: str, limit: Limit) -> None:
        self.name = name
        self._limit = limit
        self._line = Line()
        self._inside: dict[int, Inside] = {}  # all requests in the system

    def arrival(self, time_s: float, request: Request) -> Verdicts:
        limit = self._limit.value
        if len(self._inside) >= limit:
            return (Drop(request.id, f"more than {limit} requests would be in the system"),)
        self._enter(request)
        return NOTHING

    def workers_free(self, time_s: float, free: int) -> Verdicts:
        line = self._line
        return [Dispatch(line.take(Discipline.FIFO).id) for _ in range(min(free, len(line)))]

    def completion(self, time_s: float, id: int, outcome: Outcome) -> Verdicts:
        inside = self._inside.pop(id, None)  # None if another policy admitted the request
        if inside is not None:
            is_lost = outcome is not Outcome.ANSWERED
            self._limit.ended(time_s, time_s - inside.arrived_s, inside.in_flight, is_lost)
        return NOTHING

    def withdraw(self, time_s: float, id: int) -> None:
        self._line.remove(id)
        del self._inside[id]

    def adopt(self, time_s: float, requests: Sequence[Request]) -> None:
        for request in requests:
            self._enter(request)

    def waiting(self) -> Sequence[Request]:
        return oldest_first([self._line])

    def snapshot(self) -> Mapping[str, object]:
        limit = self._limit.value
        return {
            "discipline": Discipline.FIFO,
            "discipline_switches": 0,
            "queues": {"all": len(self._line)},
            "capacities": {},  # the limit also counts requests in service
            "in_flight": len(self._inside),
            **({} if limit == UNBOUNDED else {"limit": limit}),
            **self._limit.figures(),
        }

    def _enter(self, request: Request) -> None:
        self._line.append(request)
        self._inside[request.id] = Inside(request.arrived_s, len(self._inside) + 1)


class FixedLimit:
    """A limit that never changes; by default, there is no limit."""

    def __init__(self, limit: int = UNBOUNDED) -> None:
        self.value = limit

    def ended(self, time_s: float, response_s: float, in_flight: int, is_lost: bool) -> None:
        pass

    def figures(self) -> Mapping[str, object]:
        return {}


@dataclass
class AimdLimit:
    """A limit that grows by one after each answer in time if at least half of it was used, and
    shrinks by a share after each loss.
    """

    initial_limit: int
    min_limit: int
    max_limit: int
    backoff_ratio: float
    timeout_s: float

    def __post_init__(self) -> None:
        require_order("min_limit", self.min_limit, "max_limit", self.max_limit)
        self.value = min(self.max_limit, max(self.min_limit, self.initial_limit))

    def ended(self, time_s: float, response_s: float, in_flight: int, is_lost: bool) -> None:
        if is_lost or response_s > self.timeout_s:
            self.value = max(self.min_limit, int(self.value * self.backoff_ratio))
        elif in_flight * 2 >= self.value:
            self.value = min(self.max_limit, self.value + 1)

    def figures(self) -> Mapping[str, object]:
        return {}


@dataclass
class Gradient2Limit:
    """A limit that follows the ratio of the long-term mean to the latest response time."""

    initial_limit: int
    min_limit: int
    max_limit: int
    smoothing: float
    queue_size: int
    long_window: int
    rtt_tolerance: float

    WARM_UP: ClassVar = 10
    """The number of samples at the beginning that have equal weights in the mean."""

    def __post_init__(self) -> None:
        require_order("min_limit", self.min_limit, "max_limit", self.max_limit)
        self._limit = float(min(self.max_limit, max(self.min_limit, self.initial_limit)))
        self._weight = 2.0 / (self.long_window + 1)
        self._samples = 0
        self.long_rtt_s = 0.0

    @property
    def value(self) -> int:
        """The present limit, rounded down to a whole number."""
        return int(self._limit)

    def ended(self, time_s: float, response_s: float, in_flight: int, is_lost: bool) -> None:
        short_rtt_s = max(response_s, 1e-9)
        self._remember(short_rtt_s)
        # Without this step, the long-term mean would fall too slowly after a long overload.
        if self.long_rtt_s / short_rtt_s > 2.0:
            self.long_rtt_s *= 0.95
        if in_flight < self._limit / 2:
            return  # the limit does not restrict the requests
        gradient = self.rtt_tolerance * self.long_rtt_s / short_rtt_s
        gradient = max(0.5, min(1.0, gradient))
        wanted = self._limit * gradient + self.queue_size
        limit = self._limit * (1.0 - self.smoothing) + wanted * self.smoothing
        self._limit = max(float(self.min_limit), min(float(self.max_limit), limit))

    def figures(self) -> Mapping[str, object]:
        return {"long_rtt_s": self.long_rtt_s}

    def _remember(self, rtt_s: float) -> None:
        if self._samples < self.WARM_UP:
            self._samples += 1
            self.long_rtt_s += (rtt_s - self.long_rtt_s) / self._samples
        else:
            self.long_rtt_s += self._weight * (rtt_s - self.long_rtt_s)


def require_order(least_name: str, least: int, most_name: str, most: int) -> None:
    """Raise PolicyError if the lowest value of a limit is above its highest value."""
    if least > most:
        raise PolicyError(
            f"parameters.{least_name}", f"{least} is above {most_name} {most}", f"at most {most}"
        )


_NETFLIX = "Netflix concurrency-limits 0.5, "
_NOT_WINDOWED = (
    "The limit changes after each response, not after a window of responses. The response time "
    "includes the wait in the policy's queue."
)


def _limits(source: str) -> tuple[Parameter, ...]:
    return parameters(
        source,
        ("initial_limit", 20, "requests", "initial value of the limit", 1, 1_000_000),
        ("min_limit", 20, "requests", "lowest value of the limit", 1, 1_000_000),
        ("max_limit", 200, "requests", "highest value of the limit", 1, 1_000_000),
    )


PASS_THROUGH = Sheet(
    name="pass-through",
    title="Pass-through",
    idea="As behind a plain reverse proxy, every request waits until a worker is free, however "
    "long that takes.",
    rule="serve the oldest request; never turn a request away",
    source="nginx and HAProxy without limits",
    deviations="none",
)
FIXED_LIMIT = Sheet(
    name="fixed-limit",
    title="Fixed limit",
    idea="At most a fixed number of requests are in the system.",
    rule="turn an arrival away while the number of requests in the system is at least limit; serve "
    "the oldest request",
    source=_NETFLIX + "FixedLimit",
    deviations="none",
    parameters=(
        Parameter(
            "limit",
            40,
            "requests",
            "maximum number of requests in the system",
            "this project: 30 workers and 10 waiting requests",
            1,
            1_000_000,
        ),
    ),
)
AIMD = Sheet(
    name="aimd",
    title="AIMD",
    idea="The limit grows by one after an answer in time, and shrinks by a share after a loss.",
    rule="turn an arrival away while the number of requests in the system is at least limit; serve "
    "the oldest request. "
    "After a loss or a response time above timeout_s, the limit becomes limit × backoff_ratio. "
    "After any other answer, the limit becomes limit + 1 if at least half of the limit was used "
    "when the request arrived. The limit starts at initial_limit and stays between min_limit and "
    "max_limit",
    source=_NETFLIX + "AIMDLimit",
    deviations=f"{_NOT_WINDOWED} An orphan request counts as lost.",
    parameters=(
        *_limits(_NETFLIX + "AIMDLimit"),
        *parameters(
            _NETFLIX + "AIMDLimit",
            (
                "backoff_ratio",
                0.9,
                "ratio",
                "factor by which the limit is multiplied after a loss",
                0.5,
                0.999,
            ),
            (
                "timeout_s",
                5.0,
                "s",
                "response time above which a request counts as lost",
                0.001,
                3_600.0,
            ),
        ),
    ),
)
GRADIENT2 = Sheet(
    name="gradient2",
    title="Gradient2",
    idea="The limit shrinks when responses take longer than usual.",
    rule=(
        "turn an arrival away while the number of requests in the system is at least limit; serve "
        "the oldest request. "
        "After each response, if at least half of the limit was used when the request arrived, the "
        "limit becomes (1 − smoothing) × limit + smoothing × (gradient × limit + queue_size). The "
        "gradient is clamp(rtt_tolerance × long-term mean / response time, 0.5, 1). The limit "
        "starts at initial_limit and stays between min_limit and max_limit. The long-term mean is "
        "an exponential mean over long_window samples. This mean also falls by 5 % at each "
        "response that takes less than half of the mean"
    ),
    source=_NETFLIX + "Gradient2Limit",
    deviations=_NOT_WINDOWED,
    parameters=(
        *_limits(_NETFLIX + "Gradient2Limit"),
        *parameters(
            _NETFLIX + "Gradient2Limit",
            ("smoothing", 0.2, "ratio", "weight of the newest estimate in the limit", 0.001, 1.0),
            (
                "queue_size",
                4,
                "requests",
                "number of requests that is added to gradient × limit",
                0,
                1_000_000,
            ),
            (
                "long_window",
                600,
                "responses",
                "number of responses in the long-term mean",
                1,
                1_000_000,
            ),
            (
                "rtt_tolerance",
                1.5,
                "ratio",
                "ratio of response time to long-term mean above which the gradient is below 1",
                1.0,
                100.0,
            ),
        ),
    ),
)


def pass_through() -> LimitedLine:
    return LimitedLine(PASS_THROUGH.name, FixedLimit())


def fixed_limit(*, limit: int) -> LimitedLine:
    return LimitedLine(FIXED_LIMIT.name, FixedLimit(limit))


def aimd(**parameters: Any) -> LimitedLine:
    return LimitedLine(AIMD.name, AimdLimit(**parameters))


def gradient2(**parameters: Any) -> LimitedLine:
    return LimitedLine(GRADIENT2.name, Gradient2Limit(**parameters))
