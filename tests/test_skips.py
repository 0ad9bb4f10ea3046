"""The expected skips are those in the code, and any other skip is a failure."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests import skips


def reasons_in(tree: ast.AST) -> Iterator[str]:
    """The reasons of `skip` and `skipif`, an ellipsis for each value in them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            given = [keyword.value for keyword in node.keywords if keyword.arg == "reason"]
            if node.func.attr == "skip":
                given += node.args
            if node.func.attr in ("skip", "skipif"):
                yield from (
                    _text(one) for one in given if isinstance(one, ast.Constant | ast.JoinedStr)
                )


def _text(reason: ast.expr) -> str:
    if isinstance(reason, ast.JoinedStr):
        return "".join(map(_text, reason.values))
    return str(reason.value) if isinstance(reason, ast.Constant) else "…"


@pytest.fixture(scope="module")
def reasons() -> set[str]:
    """The reasons in all tests; most files have no skip and are not parsed."""
    found: set[str] = set()
    for path in sorted(skips.FILE.parent.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "skip" in text:
            found.update(reasons_in(ast.parse(text)))
    return found


def test_every_reason_in_the_tests_is_expected(reasons: set[str]) -> None:
    assert {reason for reason in reasons if not skips.is_expected(reason)} == set()


@pytest.mark.parametrize("pattern", skips.REASONS)
def test_every_expected_reason_is_in_the_tests(pattern: str, reasons: set[str]) -> None:
    found = {reason for reason in reasons if re.fullmatch(pattern, reason)}
    assert found or pattern.endswith("is missing")  # tests/ansible/machines.py words that one


def report_of(reason: str) -> pytest.TestReport:
    """The report of a test that was skipped."""
    where = ("tests/test_x.py", 1, f"Skipped: {reason}")
    return pytest.TestReport("test_x", ("test_x.py", 1, "x"), {}, "skipped", where, "setup")


def test_an_unexpected_skip_is_a_failure() -> None:
    report = report_of("no time today")
    skips.fail_if_unexpected(report)
    assert report.failed
    assert "unexpected skip: no time today" in report.longreprtext


@pytest.mark.parametrize(("required", "outcome"), [("", "skipped"), ("required", "failed")])
def test_a_missing_program_is_expected_until_all_are_installed(
    required: str, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(skips.REQUIRED, required)
    report = report_of("ab is not installed; Debian package: apache2-utils")
    skips.fail_if_unexpected(report)
    assert report.outcome == outcome
