"""A program `docker` with a test's answers, for states that no real engine can be brought to."""

import os
from pathlib import Path

import pytest


def install(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str | None) -> None:
    """Put the program on the PATH before all others; without a script there is no docker at all."""
    folder.mkdir(exist_ok=True)
    if script is None:
        monkeypatch.setenv("PATH", str(folder))
        return
    program = folder / "docker"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.defpath}")


ANSWERS = """
case "$1" in
  version) echo 28.0.0 ;;
  compose) echo v2.40.3 ;;
  ps) echo $CONTAINERS ;;
  inspect) cat "$INSPECTED" ;;
esac
"""
