"""What a student's policy may use, and how long it may take.

Owns: the limits and their values. Must not know: how they are enforced.
"""

import math
from dataclasses import dataclass
from typing import Final

MOST_WAITING: Final = 20_000
"""Requests that may wait at a time, in a student's policy."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one child process; `_s` are real seconds unless the meaning says paper."""

    start_s: float = 10.0
    """From starting the interpreter until the policy is made."""
    decision_s: float = 0.25
    """One answer. A gateway's event loop stands still meanwhile, at most once so long."""
    share_ratio: float = 0.25
    """Of all time that answers, each in time, may take of a CPU: the child's to find them, and
    likewise ours to read them."""
    burst_s: float = 1.0
    """Waiting for answers beyond that share, until the CPU is looked at."""
    cpu_s: int = 3600
    """CPU of the whole process: an hour of a run uses some seconds; this ends what is forgotten."""
    memory_bytes: int = 256 * 1024 * 1024
    """Address space, the interpreter included."""
    silence_s: float = 10.0
    """Paper seconds that nobody may be served while workers are offered and somebody waits."""
    waiting: int = MOST_WAITING
    """Requests that may wait at a time."""
    timers: int = 200
    """`timer_due` calls within one paper second."""


IN_THE_GATEWAY = Limits()

WITHOUT_CUSTOMERS = Limits(start_s=60.0, decision_s=10.0, share_ratio=1.0, burst_s=math.inf)
"""Where nobody waits in real time: simulations, checks. A busy machine must not change a result."""

OF_READING = Limits(start_s=30.0, cpu_s=10)
"""Reading a file without running it: the largest one takes less than a second of CPU."""
