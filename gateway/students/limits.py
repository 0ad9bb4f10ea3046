"""The limits on the resources and the time of a student's policy."""

import math
from dataclasses import dataclass
from typing import Final

MOST_WAITING: Final = 20_000
"""Requests that may wait at a time in a student's policy."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one child process; `_s` are real seconds unless the meaning says paper."""

    start_s: float = 10.0
    """The time from starting the interpreter until the policy is made."""
    decision_s: float = 0.25
    """The time of one answer. A gateway's event loop waits for it, at most once for this long."""
    share_ratio: float = 0.25
    """The share of a CPU for the child to find answers, and likewise for the gateway to read them.
    """
    burst_s: float = 1.0
    """The wait for answers above that share after which the CPU time is checked."""
    cpu_s: int = 3600
    """CPU seconds of the whole process. A run needs much less: the limit ends forgotten processes.
    """
    memory_bytes: int = 256 * 1024 * 1024
    """Address space, the interpreter included."""
    silence_s: float = 10.0
    """The time without service while workers are offered and requests wait; paper seconds."""
    waiting: int = MOST_WAITING
    """Requests that may wait at a time."""
    timers: int = 200
    """`timer_due` calls within one paper second."""


IN_THE_GATEWAY = Limits()

WITHOUT_CUSTOMERS = Limits(start_s=60.0, decision_s=10.0, share_ratio=1.0, burst_s=math.inf)
"""The limits without real customers: simulations, checks. A busy machine must not change a result.
"""

OF_READING = Limits(start_s=30.0, cpu_s=10)
"""The limits for reading a file without running it: the largest takes under a second of CPU."""
