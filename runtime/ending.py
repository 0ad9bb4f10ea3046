"""Ending a process that was started here.

Owns: asking, waiting, killing. Must not know: the programs.
"""

import signal
import subprocess
from typing import Any


def end(
    process: "subprocess.Popen[Any]", patience_s: float, sign: signal.Signals = signal.SIGTERM
) -> None:
    """Ask it with `sign`, and kill it if it has not ended after `patience_s`."""
    process.send_signal(sign)
    await_end(process, patience_s)


def await_end(process: "subprocess.Popen[Any]", patience_s: float) -> None:
    """Wait until it has ended, and kill it if it has not after `patience_s`."""
    try:
        process.wait(max(0.0, patience_s))
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
