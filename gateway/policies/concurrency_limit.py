"""Policies that limit the number of requests in the system, as in Netflix' concurrency-limits.

They refuse requests above the limit. A limit is fixed, additive-increase or gradient. Each limit
has one FIFO queue behind it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from gateway.policies import PolicyError
from gateway.policies.base import IgnoringPolicy, Line, oldest_first
from gateway.policies.discipline import Discipline
from gateway.policies.interface import NOTHING, Dispatch, Drop, Outcome, Request, Verdicts
from gateway.policies.sheet import Parameter, Sheet

UNBOUNDED = 1 << 62


class Limit(Protocol):
    """A limit on the requests in the system, waiting or in service."""

    @property
    def value(self) -> int:
        """The limit now, at least 1."""
        ...

    def ended(self, time_s: float, response_s: float, in_flight: int, is_lost: bool) -> None:
        """Handle a request that ended `response_s` after its arrival as the `in_flight`-th request.

        The request is lost if its customer did not get a valid answer.
        """
        ...

    def figures(self) -> Mapping[str, object]:
        """Return the limit's part of the snapshot."""
        ...


class Inside(NamedTuple):
    """A request in the system: its time of arrival, and the number in the system at that time."""

    arrived_s: float
    in_flight: int


class LimitedLine(IgnoringPolicy):
    """One FIFO queue that drops an arrival when the number in the system has reached the limit."""

    def __init__(self, name: str, limit: Limit) -> None:
        self.name = name
        self._limit = limit
        self._line = Line(UNBOUNDED)
        self._inside: dict[int, Inside] = {}  # all requests in the system

    def arrival(self, time_s: float, request: Request) -> Verdicts:
        limit = self._limit.value
        if len(self._inside) >= limit:
            return (Drop(request.id, f"more than {limit} requests in the system"),)
        self._enter(request)
        return NOTHING

    def workers_free(self, time_s: float, free: int) -> Verdicts:
        line = self._line
        return [Dispatch(line.take(Discipline.FIFO).id) for _ in range(min(free, len(line)))]

    def completion(self, time_s: float, id: int, outcome: Outcome) -> Verdicts:
        inside = self._inside.pop(id, None)  # None: another policy admitted it
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
            "capacities": {},  # the limit is on the system, not on the requests that wait
            "in_flight": len(self._inside),
            **({} if limit == UNBOUNDED else {"limit": limit}),
            **self._limit.figures(),
        }

    def _enter(self, request: Request) -> None:
        self._line.append(request)
        self._inside[request.id] = Inside(request.arrived_s, len(self._inside) + 1)


class FixedLimit:
    """A limit that stays the same."""

    def __init__(self, limit: int) -> None:
        self.value = limit

    def ended(self, time_s: float, response_s: float, in_flight: int, is_lost: bool) -> None:
        pass

    def figures(self) -> Mapping[str, object]:
        return {}


class AimdLimit:
    """A limit that grows by one while it is in full use without loss; each loss reduces it by a
    share.
    """

    def __init__(
        self,
        *,
        initial_limit: int,
        min_limit: int,
        max_limit: int,
        backoff_ratio: float,
        timeout_s: float,
    ) -> None:
        require_order("min_limit", min_limit, "max_limit", max_limit)
        self.value = min(max_limit, max(min_limit, initial_limit))
        self.min_limit, self.max_limit = min_limit, max_limit
        self.backoff_ratio = backoff_ratio
        self.timeout_s = timeout_s

    def ended(self, time_s: float, response_s: float, in_flight: int, is_lost: bool) -> None:
        if is_lost or response_s > self.timeout_s:
            self.value = max(self.min_limit, int(self.value * self.backoff_ratio))
        elif in_flight * 2 >= self.value:
            self.value = min(self.max_limit, self.value + 1)

    def figures(self) -> Mapping[str, object]:
        return {}


class Gradient2Limit:
    """A limit that follows the ratio of the long-term mean response time to the newest response
    time.
    """

    WARM_UP = 10
    """How many of the first samples are averaged with equal weights."""

    def __init__(
        self,
        *,
        initial_limit: int,
        min_limit: int,
        max_limit: int,
        smoothing: float,
        queue_size: int,
        long_window: int,
        rtt_tolerance: float,
    ) -> None:
        require_order("min_limit", min_limit, "max_limit", max_limit)
        self._limit = float(min(max_limit, max(min_limit, initial_limit)))
        self.min_limit, self.max_limit = min_limit, max_limit
        self.smoothing = smoothing
        self.queue_size = queue_size
        self.rtt_tolerance = rtt_tolerance
        self._weight = 2.0 / (long_window + 1)
        self._samples = 0
        self.long_rtt_s = 0.0

    @property
    def value(self) -> int:
        """The whole part of the estimate."""
        return int(self._limit)

    def ended(self, time_s: float, response_s: float, in_flight: int, is_lost: bool) -> None:
        short_rtt_s = max(response_s, 1e-9)
        self._remember(short_rtt_s)
        # After a long overload the long-term mean would need very long to follow.
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
    """Raise PolicyError if a limit's lowest value is above its highest."""
    if least > most:
        raise PolicyError(
            f"parameters.{least_name}", f"{least} is above {most_name} {most}", f"at most {most}"
        )


_NETFLIX = "Netflix concurrency-limits 0.5, "
_NOT_WINDOWED = (
    "Samples are taken one by one and not by windows. An orphan request counts as lost: its "
    "customer's deadline has passed. Waiting behind the limit's own line counts as response time."
)


def _limit(name: str, default: int, meaning: str, source: str) -> Parameter:
    return Parameter(name, default, "requests", meaning, source, 1, 1_000_000)


def _limits(source: str) -> tuple[Parameter, ...]:
    """Return the parameters of a moving limit: its start and its bounds."""
    return (
        _limit("initial_limit", 20, "the limit at first", source),
        _limit("min_limit", 20, "the least it becomes", source),
        _limit("max_limit", 200, "the most it becomes", source),
    )


PASS_THROUGH = Sheet(
    name="pass-through",
    title="Pass-through",
    idea="A plain reverse proxy: every request waits until a worker is free, however long.",
    rule="serve the oldest; turn no request away",
    source="nginx and HAProxy without limits",
    deviations="none",
)
FIXED_LIMIT = Sheet(
    name="fixed-limit",
    title="Fixed limit",
    idea="A fixed number of requests in the system and no more; the next one is turned away at "
    "once.",
    rule="turn an arrival away while limit requests are in the system; serve the oldest",
    source=_NETFLIX + "FixedLimit",
    deviations="none",
    parameters=(_limit("limit", 40, "most in the system", "this project: 30 workers and 10"),),
)
AIMD = Sheet(
    name="aimd",
    title="AIMD",
    idea="A limit that grows by one while no request is lost, and shrinks by a share after a loss.",
    rule="turn an arrival away while limit requests are in the system; after a loss or a "
    "response time above timeout_s: limit × backoff_ratio; otherwise, if half of it is used, "
    "limit + 1; between min_limit and max_limit, from initial_limit",
    source=_NETFLIX + "AIMDLimit",
    deviations=_NOT_WINDOWED,
    parameters=(
        *_limits(_NETFLIX + "AIMDLimit"),
        Parameter(
            "backoff_ratio",
            0.9,
            "ratio",
            "factor for the limit after a loss",
            _NETFLIX + "AIMDLimit",
            0.5,
            0.999,
        ),
        Parameter(
            "timeout_s",
            5.0,
            "s",
            "a longer response is a loss",
            _NETFLIX + "AIMDLimit",
            0.001,
            3_600.0,
        ),
    ),
)
GRADIENT2 = Sheet(
    name="gradient2",
    title="Gradient2",
    idea="A limit that shrinks when responses take longer than usual.",
    rule=(
        "turn an arrival away while limit requests are in the system; serve the oldest. After "
        "each response, if at least half of the limit is used: gradient = clamp(rtt_tolerance "
        "× long-term mean / response time, 0.5, 1), limit = (1 − smoothing) × limit + "
        "smoothing × (gradient × limit + queue_size). The limit starts at initial_limit and "
        "stays between min_limit and max_limit. The mean is exponential over long_window "
        "samples"
    ),
    source=_NETFLIX + "Gradient2Limit",
    deviations=_NOT_WINDOWED,
    parameters=(
        *_limits(_NETFLIX + "Gradient2Limit"),
        Parameter(
            "smoothing",
            0.2,
            "ratio",
            "weight of the new estimate",
            _NETFLIX + "Gradient2Limit",
            0.001,
            1.0,
        ),
        Parameter(
            "queue_size",
            4,
            "requests",
            "by which it may grow",
            _NETFLIX + "Gradient2Limit",
            0,
            1_000_000,
        ),
        Parameter(
            "long_window",
            600,
            "responses",
            "memory of the mean",
            _NETFLIX + "Gradient2Limit",
            1,
            1_000_000,
        ),
        Parameter(
            "rtt_tolerance",
            1.5,
            "ratio",
            "factor by which responses may be slower without a lower limit",
            _NETFLIX + "Gradient2Limit",
            1.0,
            100.0,
        ),
    ),
)


def pass_through() -> LimitedLine:
    """Return policy pass-through."""
    return LimitedLine(PASS_THROUGH.name, FixedLimit(UNBOUNDED))


def fixed_limit(*, limit: int) -> LimitedLine:
    """Return policy fixed limit."""
    return LimitedLine(FIXED_LIMIT.name, FixedLimit(limit))


def aimd(**parameters: Any) -> LimitedLine:
    """Return policy AIMD."""
    return LimitedLine(AIMD.name, AimdLimit(**parameters))


def gradient2(**parameters: Any) -> LimitedLine:
    """Return policy Gradient2."""
    return LimitedLine(GRADIENT2.name, Gradient2Limit(**parameters))
