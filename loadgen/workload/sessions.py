"""The session model: the arrivals, walks and patience of customers.

The parameters and a seed determine the customers: their arrivals, walks, patience, retries and
think times. The module and its parts `chain` (LIFO-Pri's Fig. 1), `lengths` (SBAC's sessions),
`load_schedule` and `draws` use only the standard library; other packages import the model from
here. All times are paper seconds.

Source: Singhmar, Mathur, Apte, Manjunath, *A Combined LIFO-Priority Scheme for Overload Control of
E-commerce Web Servers*, section 3.2.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from itertools import takewhile
from random import Random
from typing import Any, Literal, get_args

from loadgen import defaults
from loadgen.workload.chain import (
    CONFIRM_PAGE,
    FIRST_PAGE,
    MEAN_EXECUTION_S,
    PAGES,
    Chain,
)
from loadgen.workload.draws import (
    LARGEST_MAX_RETRIES,
    LONGEST_WALK,
    address,
    exponential,
    stream,
    stream_key,
    uniform,
)
from loadgen.workload.lengths import (
    SBAC_TABLE_1,
    LengthClass,
    LengthKind,
    LengthLaw,
    SessionLengths,
    walk_of,
)
from loadgen.workload.load_schedule import Schedule, Segment
from loadgen.workload.refusals import (
    SessionModelError,
    require_positive,
    require_probability,
    require_range,
)

__all__ = [
    "CONFIRM_PAGE",
    "FIRST_PAGE",
    "LARGEST_MAX_RETRIES",
    "LONGEST_WALK",
    "MEAN_EXECUTION_S",
    "PAGES",
    "SBAC_TABLE_1",
    "Chain",
    "Customers",
    "LengthClass",
    "LengthKind",
    "Schedule",
    "Segment",
    "SessionLengths",
    "SessionModel",
    "SessionModelError",
    "WalkDrawing",
]

WalkDrawing = Literal["quota", "chance"]

DrawingAll = Callable[[int], Iterator[float]]
"""A function that returns all numbers of the stream with this key."""


@dataclass(frozen=True, slots=True)
class SessionModel:
    """The parameters of the customers' behaviour.

    Durations are paper seconds; defaults are LIFO-Pri's, section 3.2.1.

    Raises `SessionModelError`, which names the field, for values out of range.
    """

    chain: Chain = field(default_factory=Chain)
    """The Markov chain over the page types, by default that of Fig. 1."""
    timeout_s: float = defaults.LIFO_PRI_TIMEOUT_S
    """The constant part of every patience (httperf's `--timeout`); with `inf`, no customer ever
    leaves.
    """
    think_timeout_mean_s: float = defaults.LIFO_PRI_THINK_TIMEOUT_MEAN_S
    """The mean of the exponential part of a patience (httperf's `--think-timeout`)."""
    retry_probability: float = defaults.LIFO_PRI_RETRY_PROBABILITY
    """The probability p that a timed-out request is sent again."""
    max_retries: int = defaults.LIFO_PRI_MAX_RETRIES
    """The maximum number M of retries per request, 0 to 200."""
    think_time_mean_s: float = defaults.LIFO_PRI_THINK_TIME_MEAN_S
    """The mean of the exponential pause before each page except the first."""
    walks: WalkDrawing = "quota"
    """With `quota`, the walks are a repeated file of `file_sessions` walks, as in the paper; with
    `chance`, each walk is drawn independently.
    """
    file_sessions: int = 1000
    """The number of walks in the session file."""
    lengths: SessionLengths | None = None
    """The session lengths of SBAC, whose sessions request Br-1, then alternately Br-2 and Br-4.
    With lengths, `chain`, `walks` and `file_sessions` have no effect.
    """

    def __post_init__(self) -> None:
        for name in ("timeout_s", "think_timeout_mean_s", "think_time_mean_s"):
            value = getattr(self, name)
            if math.isnan(value) or value < 0:
                raise SessionModelError(name, f"{value} is not a duration; give 0 or more seconds")
        if math.isinf(self.think_time_mean_s):
            raise SessionModelError("think_time_mean_s", "give a finite number of seconds")
        require_probability("retry_probability", self.retry_probability)
        require_range("max_retries", self.max_retries, 0, LARGEST_MAX_RETRIES)
        if self.walks not in get_args(WalkDrawing):
            raise SessionModelError("walks", f"{self.walks!r} is unknown; give quota or chance")
        if self.file_sessions < 1:
            raise SessionModelError("file_sessions", f"{self.file_sessions}: give 1 or more")

    def parameters(self) -> dict[str, object]:
        """Return all parameters by name, ready for JSON; an infinite patience is the text `inf`."""
        found: dict[str, object] = {
            "transitions": {page: dict(row) for page, row in self.chain.transitions.items()}
        }
        for entry in fields(self):
            if entry.name not in ("chain", "lengths"):
                value = getattr(self, entry.name)
                found[entry.name] = "inf" if value == math.inf else value
        found["lengths"] = self.lengths.parameters() if self.lengths else None
        return found

    @classmethod
    def of_parameters(cls, given: Mapping[str, Any]) -> "SessionModel":
        """Return the model with these `parameters`; missing parameters have their defaults."""
        rest = dict(given)
        chain = Chain(rest.pop("transitions")) if "transitions" in rest else Chain()
        if rest.get("lengths"):
            try:
                rest["lengths"] = SessionLengths.of_parameters(rest["lengths"])
            except SessionModelError as error:
                raise SessionModelError(f"lengths.{error.field}", error.message) from None
        return cls(chain, **{**rest, "timeout_s": float(rest.get("timeout_s", cls().timeout_s))})

    def visits(self) -> dict[str, float]:
        """Return the expected requests per session for each page type, if all succeed."""
        return self.lengths.visits() if self.lengths else self.chain.visits()

    def mean_requests(self) -> float:
        return math.fsum(self.visits().values())

    def mean_execution_s(self, execution_s: Mapping[str, float] = MEAN_EXECUTION_S) -> float:
        """Return a request's mean execution time in paper seconds (LIFO-Pri: 0.2501, Table 2)."""
        visits = self.visits()
        total = sum(count * execution_s[page] for page, count in visits.items())
        return total / sum(visits.values())

    def session_rate(self, rho: float, capacity_rps: float) -> float:
        """Return the sessions per paper second that offer load ρ to a capacity in requests/s.

        λ = ρ × capacity / mean requests per session.
        """
        require_positive("rho", rho)
        require_positive("capacity_rps", capacity_rps)
        return rho * capacity_rps / self.mean_requests()


class Customers:
    """The customers of one seed, which are the same in every run, regardless of the answers.

    Each kind of draw (arrivals, walks, patience, retries, think times) has a separate random
    stream, addressed by session, step and attempt. Runs with different policies therefore have the
    same customers. For example, the second attempt of session 7 at its third page always has the
    same patience.
    """

    def __init__(
        self,
        model: SessionModel,
        seed: int,
        session_rate: float,
        schedule: Schedule | None = None,
    ) -> None:
        """Create the customers; `session_rate` is in sessions per paper second and must be
        positive.

        With a `schedule`, `session_rate` is the rate at ρ = 1, and arrivals end with the last
        segment.
        """
        require_positive("session_rate", session_rate)
        self.model = model
        self.session_rate = session_rate
        self.schedule = schedule
        self._arrival_key = stream_key(seed, "arrivals")
        self._walk_key = stream_key(seed, "walks")
        self._patience_key = stream_key(seed, "patience")
        self._retry_key = stream_key(seed, "retries")
        self._think_key = stream_key(seed, "think times")
        self._class_key = stream_key(seed, "session classes")
        self._length_key = stream_key(seed, "session lengths")
        self._length_law = LengthLaw(model.lengths) if model.lengths else None
        self._mixed = bool(model.lengths and model.lengths.mixture)
        self._file: tuple[tuple[str, ...], ...] = ()
        if model.walks == "quota" and model.lengths is None:
            file_rng = Random(f"{seed}/session file")
            self._file = model.chain.quota_file(model.file_sessions, file_rng)

    def arrivals(self, until_s: float = math.inf, drawn: DrawingAll = stream) -> Iterator[float]:
        """Return the times of Poisson arrivals in paper seconds since the start, session 0 first.

        The arrivals end with the schedule or at `until_s`; without both, they never end. `drawn`
        may be a faster function than `stream`, but must return the same numbers.
        """
        places = drawn(self._arrival_key)
        if self.schedule is None:
            times = self._steady_arrivals(places)
        else:
            unit_gaps = (exponential(place, 1.0) for place in places)
            times = self.schedule.arrivals(unit_gaps, self.session_rate)
        return times if math.isinf(until_s) else takewhile(lambda time_s: time_s < until_s, times)

    def _steady_arrivals(self, places: Iterator[float]) -> Iterator[float]:
        time_s = 0.0
        mean_gap_s = 1 / self.session_rate
        for place in places:
            time_s += exponential(place, mean_gap_s)
            yield time_s

    @property
    def same_patience_s(self) -> float | None:
        """The patience of every attempt, if all attempts have the same patience; otherwise None."""
        model = self.model
        is_drawn = model.think_timeout_mean_s != 0 and not math.isinf(model.timeout_s)
        return None if is_drawn else model.timeout_s

    def kind(self, session: int) -> int:
        """Return the index of the session's class in the mixture, or 0 without a mixture."""
        if self._length_law is None or not self._mixed:
            return 0
        return self._length_law.kind_at(uniform(self._class_key, session))

    def length(self, session: int) -> int:
        """Return the number of pages of session `session` (from 0), if all its requests succeed."""
        if self._length_law is None:
            return len(self.walk(session))
        return self._length_law.length_at(self.kind(session), uniform(self._length_key, session))

    def walk(self, session: int) -> tuple[str, ...]:
        """Return the pages of session `session` (from 0), if all its requests succeed."""
        if self._length_law is not None:
            return walk_of(self.length(session))
        if self._file:
            return self._file[session % len(self._file)]
        return self.model.chain.walk_at(uniform(self._walk_key, session))

    def patience_s(self, session: int, step: int, attempt: int) -> float:
        """Return the patience of this attempt (from 1) at this step (from 0)."""
        same_s = self.same_patience_s
        if same_s is not None:
            return same_s
        model = self.model
        draw = uniform(self._patience_key, address(session, step, attempt))
        return model.timeout_s + exponential(draw, model.think_timeout_mean_s)

    def retries(self, session: int, step: int, attempt: int) -> bool:
        """Return whether the customer tries again when attempt `attempt` (from 1) times out."""
        if attempt > self.model.max_retries:
            return False
        draw = uniform(self._retry_key, address(session, step, attempt))
        return draw < self.model.retry_probability

    def think_time_s(self, session: int, step: int) -> float:
        """Return the pause before step `step`; 0 before the first."""
        mean_s = self.model.think_time_mean_s
        if step == 0 or mean_s == 0:
            return 0.0
        return exponential(uniform(self._think_key, address(session, step, 0)), mean_s)
