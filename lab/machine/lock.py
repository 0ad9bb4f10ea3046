"""The lock for live runs. Only one live run at a time can hold a lock; the environment variable
DOORBUSTER_LIVE_RUN_LOCK names the lock, by default `live-run`.
"""

import os
import socket
import time

from lab.errors import ExperimentError
from lab.machine import machine_lock
from lab.machine.progress_file import progress_file

GIVES_WAY = "DOORBUSTER_GIVES_WAY"
"""The environment variable for a live run that stops if another run needs the machine."""
WAITS = "DOORBUSTER_WAITS_FOR_MACHINE"
"""The environment variable for a live run that waits until the machine is free."""
LOCK = "DOORBUSTER_LIVE_RUN_LOCK"
"""The environment variable with the name of the lock, by default `live-run`.

Appliances on separate CPUs can have different locks.
"""
_GIVES_WAY_WITHIN_S = 60.0
_ASK_EVERY_S = 0.1


def live_run_lock() -> socket.socket:
    """Hold the machine's lock for one live run; raises ExperimentError while another run holds it.
    If the holder belongs to the same user and has the variable GIVES_WAY, a new run without this
    variable interrupts the holder and waits up to a minute (real time) for its end. If the new run
    has the variable WAITS, it waits until the lock is free, whichever run holds the lock. The lock
    is free again when the returned socket's `with` block ends."""
    name = os.environ.get(LOCK) or "live-run"
    other: machine_lock.Holder | None = None
    interrupted: machine_lock.Holder | None = None
    # `wait_until` cannot be used, because the limit depends on the holder, which may change.
    until_s = time.monotonic() + _GIVES_WAY_WITHIN_S
    while True:
        try:
            return machine_lock.take(name, other)
        except machine_lock.HeldError as held:
            other, words = held.holder, str(held)
        except OSError as fault:
            raise ExperimentError(
                f"{LOCK}={name}: a lock cannot have this name ({fault.strerror or fault}); "
                "allowed: up to 90 bytes."
            ) from None
        asks = (
            other is not None
            and bool(other.environment().get(GIVES_WAY))
            and not os.environ.get(GIVES_WAY)
        )
        waits = os.environ.get(WAITS) or (asks and time.monotonic() < until_s)
        if not waits and other is not None:
            is_ours = other.user == os.geteuid()
            fix = "stop it" if is_ours else f"ask {other.user_name} to stop it"
            raise ExperimentError(
                f"Another live run holds this machine ({words}); two simultaneous live runs would "
                f"spoil both results. Wait until that run has ended, or {fix}."
            )
        progress_file.tell(words=f"waits for another live run on this machine ({words})")
        if other is not None and asks and other != interrupted:
            interrupted = other
            other.interrupt()
        time.sleep(_ASK_EVERY_S)
