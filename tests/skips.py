"""The skips that are expected, from `expected_skips.toml`; any other skip is a failure."""

import os
import re
import shutil
import sys
import tomllib
from pathlib import Path

import pytest

FILE = Path(__file__).with_name("expected_skips.toml")
_WRITTEN = tomllib.loads(FILE.read_text(encoding="utf-8"))
TOOLS: dict[str, str] = _WRITTEN["tools"]
"""Debian package of each program that tests start."""
REASONS: list[str] = [skip["reason"] for skip in _WRITTEN["skip"]]
"""Regular expressions of the other reasons."""
REQUIRED = "DOORBUSTER_TEST_TOOLS"


def is_expected(reason: str) -> bool:
    """Whether a test may be skipped for this reason."""
    if reason in map(_lacking, TOOLS):
        return os.environ.get(REQUIRED) != "required"
    return any(re.fullmatch(pattern, reason, re.DOTALL) for pattern in REASONS)


def needs(*programs: str) -> pytest.MarkDecorator:
    """Mark a test, or several, that start these programs."""
    lacking = [program for program in programs if shutil.which(program) is None]
    reason = _lacking((lacking or programs)[0])
    return pytest.mark.skipif(bool(lacking), reason=reason)


def skip_without(program: str, path: str | None = None) -> None:
    """Skip the test that runs unless the program is on the path."""
    if shutil.which(program, path=path) is None:
        pytest.skip(_lacking(program))


def needs_open_clone() -> pytest.MarkDecorator:
    """Mark a test that starts the embedded PostgreSQL as another account than root."""
    place = Path(sys.prefix)
    is_open = all(folder.stat().st_mode & 0o001 for folder in (place, *place.parents))
    return pytest.mark.skipif(
        os.getuid() == 0 and not is_open, reason="only in a clone that other accounts may enter"
    )


def fail_if_unexpected(report: pytest.TestReport) -> None:
    """Turn the report of an unexpected skip into that of a failure."""
    if report.skipped and not hasattr(report, "wasxfail") and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if not is_expected(reason):
            report.outcome = "failed"
            report.longrepr = f"unexpected skip: {reason}; {FILE.name} has the expected reasons"


def _lacking(program: str) -> str:
    return f"{program} is not installed; Debian package: {TOOLS[program]}"
