"""Envoy's two overload filters: adaptive concurrency and admission control."""

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar

from gateway.policies.concurrency_limit import FixedLimit, LimitedLine, require_order
from gateway.policies.interface import Drop, Outcome, Request, Verdicts
from gateway.policies.sheet import Parameter, Sheet, parameters

_ADAPTIVE = "Envoy, adaptive concurrency filter, "
_ADMISSION = "Envoy, admission control filter, "


@dataclass
class GradientController:
    """A limit that follows the ratio (minimum response time + buffer) / current response time, with
    a headroom of √limit. Periodically, the controller measures the minimum response time with at
    most `min_concurrency` requests in the system. Requests that arrived before the measurement do
    not count. A window ends with the first response after its planned end, and the limit then
    changes.
    """

    min_concurrency: int
    max_concurrency: int
    request_count: int
    buffer_ratio: float
    update_interval_s: float
    min_rtt_interval_s: float
    jitter_ratio: float
    random: Random

    LOWEST_FOR_WINDOWS: ClassVar = 5
    """After this number of successive windows with the lowest limit, the minimum response time is
    measured again.
    """

    def __post_init__(self) -> None:
        least, most = self.min_concurrency, self.max_concurrency
        require_order("min_concurrency", least, "max_concurrency", most)
        self._samples_s: list[float] = []
        self._is_measuring = True
        self._measures_since_s = -math.inf
        self._limit = self._limit_before = least
        self._lowest_for = 0
        self._window_ends_s = math.inf
        self._measure_at_s = math.inf
        self.min_rtt_s: float | None = None

    @property
    def value(self) -> int:
        """The present limit in requests: `min_concurrency` while the minimum response time is
        measured.
        """
        return self.min_concurrency if self._is_measuring else self._limit

    def ended(self, time_s: float, response_s: float, in_flight: int, is_lost: bool) -> None:
        if time_s - response_s < self._measures_since_s:
            return  # the request arrived before the measurement
        self._samples_s.append(response_s)
        if self._is_measuring:
            if len(self._samples_s) >= self.request_count:
                self._measured(time_s)
        elif time_s >= self._measure_at_s:
            self._measure(time_s)
        elif time_s >= self._window_ends_s:
            self._update(time_s)

    def figures(self) -> Mapping[str, object]:
        return {"min_rtt_s": self.min_rtt_s, "is_measuring": self._is_measuring}

    def _measure(self, time_s: float) -> None:
        self._is_measuring = True
        self._measures_since_s = time_s
        self._limit_before = self._limit
        self._samples_s.clear()

    def _measured(self, time_s: float) -> None:
        self.min_rtt_s = _median(self._samples_s)
        self._samples_s.clear()
        self._is_measuring = False
        self._limit = self._limit_before
        self._lowest_for = 0
        self._window_ends_s = time_s + self.update_interval_s
        jitter_s = self.random.random() * self.jitter_ratio * self.min_rtt_interval_s
        self._measure_at_s = time_s + self.min_rtt_interval_s + jitter_s

    def _update(self, time_s: float) -> None:
        assert self.min_rtt_s is not None
        ideal_s = self.min_rtt_s * (1.0 + self.buffer_ratio)
        gradient = max(0.5, min(2.0, ideal_s / max(_median(self._samples_s), 1e-9)))
        limit = self._limit * gradient
        limit += math.sqrt(limit)
        before = self._limit
        self._limit = max(self.min_concurrency, min(self.max_concurrency, int(limit)))
        self._samples_s.clear()
        self._window_ends_s = time_s + self.update_interval_s
        stays_lowest = before == self._limit == self.min_concurrency
        self._lowest_for = self._lowest_for + 1 if stays_lowest else 0
        if self._lowest_for >= self.LOWEST_FOR_WINDOWS:
            self._measure(time_s)


class SuccessRate:
    """Counts of requests and successes in the last `window_s`, in steps of one second."""

    STEP_S = 1.0

    def __init__(self, window_s: float) -> None:
        self._window_s = window_s
        self._steps: deque[tuple[float, int, int]] = deque()  # start time, requests, successes
        self.requests = 0
        self.successes = 0

    def add(self, time_s: float, is_success: bool) -> None:
        """Count a request that ended."""
        self.forget(time_s)
        if not self._steps or time_s - self._steps[-1][0] >= self.STEP_S:
            self._steps.append((time_s, 0, 0))
        since_s, requests, successes = self._steps[-1]
        self._steps[-1] = (since_s, requests + 1, successes + is_success)
        self.requests += 1
        self.successes += is_success

    def forget(self, time_s: float) -> None:
        """Remove the steps that have left the window."""
        while self._steps and time_s - self._steps[0][0] >= self._window_s:
            _, requests, successes = self._steps.popleft()
            self.requests -= requests
            self.successes -= successes


class AdmissionControl(LimitedLine):
    """A policy that rejects requests at random; the lower the recent success rate, the more
    requests it rejects.
    """

    def __init__(
        self,
        *,
        threshold: float,
        aggression: float,
        window_s: float,
        rps_threshold: float,
        max_probability: float,
        seed: int,
    ) -> None:
        super().__init__(ADMISSION_CONTROL.name, FixedLimit())
        self._threshold = threshold
        self._aggression = aggression
        self._window_s = window_s
        self._rps_threshold = rps_threshold
        self._max_probability = max_probability
        self._random = Random(seed)
        self._rate = SuccessRate(window_s)

    def probability(self) -> float:
        """Return the probability that the next request is rejected."""
        total = self._rate.requests
        if total / self._window_s < self._rps_threshold:
            return 0.0
        wanted = self._rate.successes / self._threshold
        share = max(0.0, (total - wanted) / (total + 1))
        return min(self._max_probability, math.pow(share, 1.0 / self._aggression))

    def arrival(self, time_s: float, request: Request) -> Verdicts:
        self._rate.forget(time_s)
        probability = self.probability()
        if probability > 0.0 and self._random.random() < probability:
            return (Drop(request.id, f"rejected with probability {probability:.2f}"),)
        return super().arrival(time_s, request)

    def completion(self, time_s: float, id: int, outcome: Outcome) -> Verdicts:
        self._rate.add(time_s, outcome is Outcome.ANSWERED)
        return super().completion(time_s, id, outcome)

    def snapshot(self) -> Mapping[str, object]:
        return {**super().snapshot(), "rejection_probability": self.probability()}


def _median(samples: list[float]) -> float:
    ordered = sorted(samples)
    return ordered[(len(ordered) - 1) // 2]


_SEED = Parameter("seed", 1, "number", "seed of the random draws", "this project", 0, 2**53)

ADAPTIVE_CONCURRENCY = Sheet(
    name="envoy-adaptive-concurrency",
    title="Envoy adaptive concurrency",
    idea="The limit aims at response times slightly longer than those of an empty server.",
    rule=(
        "turn an arrival away while the number of requests in the system is at least limit; "
        "serve the oldest request. "
        "Every update_interval_s, the gradient is calculated: gradient = clamp((1 + buffer_ratio) "
        "× minRTT / median response time, 0.5, 2). The limit becomes gradient × limit + √(gradient "
        "× limit), but stays between min_concurrency and max_concurrency. The minRTT is the median "
        "response time of request_count requests while at most min_concurrency requests are in the "
        "system. "
        "Requests that arrived before the measurement do not count. The next measurement begins "
        "after min_rtt_interval_s and a random delay (drawn with seed) of up to jitter_ratio × "
        "min_rtt_interval_s. After five successive windows with the limit at min_concurrency, the "
        "next measurement begins at once"
    ),
    source=_ADAPTIVE + "gradient controller",
    deviations="A window ends with the first response after update_interval_s. Envoy has no "
    "defaults for the two intervals; the values here are from Envoy's example. The response "
    "times of orphan requests count, too.",
    parameters=(
        *parameters(
            _ADAPTIVE + "default",
            ("min_concurrency", 3, "requests", "lowest limit", 1, 10**6),
            ("max_concurrency", 1000, "requests", "highest limit", 1, 10**6),
            (
                "request_count",
                50,
                "responses",
                "number of responses in a measurement of minRTT",
                1,
                10**6,
            ),
            ("buffer_ratio", 0.25, "ratio", "headroom B as a share of minRTT", 0.0, 100.0),
        ),
        *parameters(
            _ADAPTIVE + "example",
            ("update_interval_s", 0.1, "s", "length of a window", 0.001, 3600.0),
            (
                "min_rtt_interval_s",
                60.0,
                "s",
                "interval between measurements of minRTT",
                0.1,
                86_400.0,
            ),
        ),
        Parameter(
            "jitter_ratio",
            0.15,
            "ratio",
            "maximum random delay of a measurement, as a share of min_rtt_interval_s",
            _ADAPTIVE + "default",
            0.0,
            1.0,
        ),
        _SEED,
    ),
)
ADMISSION_CONTROL = Sheet(
    name="envoy-admission-control",
    title="Envoy admission control",
    idea="The more requests fail, the more arrivals are rejected at random before they reach "
    "the shop.",
    rule="reject with probability min(max_probability, max(0, (n − s / threshold) / (n + 1)) ^ "
    "(1 / aggression)), with random numbers from seed. In the last window_s, n requests ended, "
    "and s of them succeeded. Reject nothing while the rate n / window_s is below rps_threshold; "
    "serve the oldest request",
    source=_ADMISSION + "1.31 (earlier versions use the rate n / age of the oldest request); based "
    "on Google's client-side throttling (SRE book, chapter 21)",
    deviations=(
        "A success is an answer that reached its customer; an orphan request counts as a failure."
    ),
    parameters=(
        *parameters(
            _ADMISSION + "default",
            (
                "threshold",
                0.95,
                "ratio",
                "success rate at or above which nothing is rejected",
                0.01,
                1.0,
            ),
            (
                "aggression",
                1.0,
                "number",
                "the exponent is 1 / aggression; with a higher value, more requests are rejected "
                "at the same success rate",
                1.0,
                100.0,
            ),
            (
                "window_s",
                30.0,
                "s",
                "time over which requests and successes are counted",
                1.0,
                3600.0,
            ),
            (
                "rps_threshold",
                0.0,
                "requests/s",
                "request rate below which no request is rejected",
                0.0,
                1e6,
            ),
            ("max_probability", 0.8, "ratio", "maximum probability of a rejection", 0.0, 1.0),
        ),
        _SEED,
    ),
)


def adaptive_concurrency(*, seed: int, **parameters: Any) -> LimitedLine:
    controller = GradientController(random=Random(seed), **parameters)
    return LimitedLine(ADAPTIVE_CONCURRENCY.name, controller)
