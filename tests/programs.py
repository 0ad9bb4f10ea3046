"""Programs that tests run to their end, or as holders of a lock."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def holder(script: str, *arguments: str, **environment: str) -> "Iterator[subprocess.Popen[str]]":
    """Yield a process that runs a Python script and has printed `held`; kill it after the block."""
    with subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        cwd=REPOSITORY,
        env=os.environ | environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()
