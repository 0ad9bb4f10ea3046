"""The limits on the resources and the time of a student's policy."""

import math
from dataclasses import dataclass
from typing import Final

MOST_WAITING: Final = 20_000
"""The maximum number of requests that may wait in a student's policy at the same time."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits on one child process; `_s` means real seconds unless the description names paper
    seconds.
    """

    start_s: float = 10.0
    """The time from the start of the interpreter until the policy has been created."""
    decision_s: float = 0.25
    """The maximum time for which the event loop waits for one answer. A policy that exceeds the
    limit is replaced.
    """
    share_ratio: float = 0.25
    """The share of a CPU that the child and the gateway may each spend on the child's answers."""
    burst_s: float = 1.0
    """The answer time, in real seconds, that a policy may use beyond `share_ratio` of the elapsed
    time. If a policy uses more, the gateway checks the CPU time of the answers.
    """
    cpu_s: int = 3600
    """The CPU seconds of the whole process, far more than a run needs. The limit ends processes
    that nothing else has ended.
    """
    memory_bytes: int = 256 * 1024 * 1024
    """The limit on the process's address space in bytes; the interpreter counts, too."""
    silence_s: float = 10.0
    """The maximum time, in paper seconds, for which requests may wait although workers are free and
    no request is in service.
    """
    waiting: int = MOST_WAITING
    """The maximum number of requests that may wait at the same time."""
    timers: int = 200
    """The maximum number of `timer_due` calls within one paper second."""


IN_THE_GATEWAY = Limits()

WITHOUT_CUSTOMERS = Limits(start_s=60.0, decision_s=10.0, share_ratio=1.0, burst_s=math.inf)
"""Generous limits for simulations and checks, because a busy machine must not change a result."""

OF_READING = Limits(start_s=30.0, cpu_s=10)
"""The limits for reading a file without running it."""
