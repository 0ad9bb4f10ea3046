"""Programs that tests run to their end."""

import subprocess
import sys
from typing import Any

from runtime.settings import REPOSITORY


def run(*command: object, **options: Any) -> "subprocess.CompletedProcess[str]":
    """Run a command in the repository; return its status and its output as text."""
    usual = {"cwd": REPOSITORY, "capture_output": True, "text": True, "timeout": 300}
    if "stdout" in options:
        del usual["capture_output"]
    return subprocess.run(list(map(str, command)), **(usual | options))


def python(*arguments: object, **options: Any) -> "subprocess.CompletedProcess[str]":
    """Run this Python with these arguments, as `run` does."""
    return run(sys.executable, *arguments, **options)
