"""The limits on the resources and the time of a student's policy."""

import math
from dataclasses import dataclass
from typing import Final

MOST_WAITING: Final = 20_000
"""The maximum number of requests that may wait in a student's policy at the same time."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits on one child process; `_s` are real seconds unless the meaning mentions paper
    time.
    """

    start_s: float = 10.0
    """The time limit from starting the interpreter until the policy has been created."""
    decision_s: float = 0.25
    """The time limit of one answer. The gateway's event loop waits for the answer; a policy that
    exceeds the limit is replaced, so the loop waits this long at most once.
    """
    share_ratio: float = 0.25
    """The share of a CPU that may be used for answers: by the child to find them, and by the
    gateway to read them.
    """
    burst_s: float = 1.0
    """The time by which waiting for answers may exceed `wait_share` before the CPU time is checked.
    """
    cpu_s: int = 3600
    """The limit on CPU seconds of the whole process. A run needs much less; the limit ends
    processes that were forgotten.
    """
    memory_bytes: int = 256 * 1024 * 1024
    """The limit on address space in bytes, including the interpreter."""
    silence_s: float = 10.0
    """The maximum time without a dispatch, in paper seconds, while workers are offered and requests
    wait.
    """
    waiting: int = MOST_WAITING
    """The maximum number of requests that may wait at the same time."""
    timers: int = 200
    """The maximum number of `timer_due` calls within one paper second."""


IN_THE_GATEWAY = Limits()

WITHOUT_CUSTOMERS = Limits(start_s=60.0, decision_s=10.0, share_ratio=1.0, burst_s=math.inf)
"""The limits for simulations and checks, which have no real customers; they are generous, because a
busy machine must not change a result.
"""

OF_READING = Limits(start_s=30.0, cpu_s=10)
"""The limits for reading a file without running it; even the largest file takes less than a second
of CPU.
"""
