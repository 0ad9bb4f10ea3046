"""An offered load that changes in steps, for SBAC's usual and busy days and for eDragon's zones."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from loadgen.workload.refusals import SessionModelError, require_positive


class Segment(NamedTuple):
    """A segment of `duration_s` paper seconds with load `rho`; at load 0, no session arrives."""

    duration_s: float
    rho: float


class RateStep(NamedTuple):
    """A step: from `from_s` paper seconds on, `sessions_ps` new sessions arrive per paper
    second.
    """

    from_s: float
    sessions_ps: float


@dataclass(frozen=True, slots=True)
class Schedule:
    """A sequence of loads from the start of the run; arrivals end with the last segment.

    Raises `SessionModelError` for a duration that is not above 0, a load below 0, and a schedule
    without arrivals.
    """

    segments: tuple[Segment, ...]

    def __post_init__(self) -> None:
        for i, segment in enumerate(self.segments):
            require_positive(f"schedule.{i}.duration_s", segment.duration_s)
            if not (segment.rho >= 0 and math.isfinite(segment.rho)):
                raise SessionModelError(f"schedule.{i}.rho", f"{segment.rho}: give 0 or more")
        if not any(segment.rho > 0 for segment in self.segments):
            raise SessionModelError(
                "schedule", "no session ever arrives; give at least one load above 0"
            )

    @classmethod
    def of_rates(cls, steps: Sequence[RateStep], until_s: float) -> "Schedule":
        """Return a schedule of rates, where ρ = 1 means one session per paper second.

        Each rate holds until the next step, and the last rate until `until_s`.

        Raises `SessionModelError` if the first step is not at 0, the steps are not in order, the
        end is not after the last step, a rate is below 0, or all rates are 0.
        """
        if not steps or steps[0].from_s != 0:
            raise SessionModelError("steps.0.from_s", "the first step must begin at 0")
        ends = [*(step.from_s for step in steps[1:]), until_s]
        segments = []
        for i, (step, end_s) in enumerate(zip(steps, ends, strict=True)):
            if not (math.isfinite(end_s) and end_s > step.from_s):
                field = f"steps.{i + 1}.from_s" if i + 1 < len(steps) else "until_s"
                raise SessionModelError(field, f"{end_s:g} is not after {step.from_s:g} s")
            if not (step.sessions_ps >= 0 and math.isfinite(step.sessions_ps)):
                raise SessionModelError(
                    f"steps.{i}.sessions_ps", f"{step.sessions_ps}: give 0 or more"
                )
            segments.append(Segment(end_s - step.from_s, step.sessions_ps))
        return cls(tuple(segments))

    @property
    def duration_s(self) -> float:
        """The time from the start to the end of the last segment, in paper seconds."""
        return math.fsum(segment.duration_s for segment in self.segments)

    def expected_sessions(self, session_rate: float) -> float:
        """Return the mean number of arrivals if ρ = 1 means `session_rate` sessions per paper
        second.
        """
        return session_rate * math.fsum(s.duration_s * s.rho for s in self.segments)

    def arrivals(self, unit_gaps: Iterable[float], session_rate: float) -> Iterator[float]:
        """Yield arrival times in paper seconds if ρ = 1 means `session_rate` sessions per paper
        second.

        `unit_gaps` are exponential with mean 1; a session arrives when session_rate × ∫ρ reaches
        the sum of the gaps up to this session. The same customers arrive under every load; under a
        higher load, they arrive earlier.
        """
        segments = iter(self.segments)
        segment = next(segments)
        time_s, end_s = 0.0, segment.duration_s
        for gap in unit_gaps:
            rate = session_rate * segment.rho
            while gap >= (room := (end_s - time_s) * rate):
                gap -= room
                time_s = end_s
                following = next(segments, None)
                if following is None:
                    return
                segment = following
                end_s += segment.duration_s
                rate = session_rate * segment.rho
            time_s += gap / rate
            yield time_s
