"""The limits of one person: one place, one setting, and errors that name who can raise a limit."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from lab.console.site.allowances import (
    STUDENT,
    TEACHER,
    VARIABLE,
    Allowance,
    AllowanceError,
    limits,
    require,
    student,
    written,
)
from runtime.settings import SettingsError, load

DOCUMENT = Path(__file__).parents[4] / "docs" / "console.md"


def test_a_student_never_has_more_than_a_teacher() -> None:
    for name in limits():
        assert 0 < getattr(STUDENT, name) <= getattr(TEACHER, name), name
    assert [one.name for one in fields(Allowance) if one.name not in limits()] == ["whose"]


def test_the_document_has_every_limit() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.+) \| (.+) \| (.+) \|$", text, re.M)
    assert rows == [
        (name, title, written(name, getattr(STUDENT, name)), written(name, getattr(TEACHER, name)))
        for name, title in limits().items()
    ]


def test_a_deployment_changes_students_limits() -> None:
    raised = student("runs_per_launch=5000 waiting_launches=9")
    assert (raised.runs_per_launch, raised.waiting_launches) == (5000, 9)
    assert raised.spec_bytes == STUDENT.spec_bytes


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("runs=5", "'runs' is not a limit; allowed: runs_per_launch, expected_s_per_launch"),
        ("whose=5", "'whose' is not a limit"),
        ("runs_per_launch=0", "runs_per_launch=0: must be a whole number from 1 to 20000"),
        ("runs_per_launch=20001", "from 1 to 20000, the limit of a teacher"),
        ("runs_per_launch=²", "from 1 to 20000"),
        ("runs_per_launch", "from 1 to 20000"),
    ],
)
def test_an_impossible_limit_is_refused(text: str, words: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(words)) as refused:
        student(text)
    assert str(refused.value).startswith(VARIABLE)


def test_the_settings_refuse_what_is_not_a_list_of_limits(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="name=number"):
        load({VARIABLE: "5000 runs"}, tmp_path)
    (tmp_path / ".env").write_text(f'{VARIABLE}="runs_per_launch=5000 bundle_files=9"\n')
    assert load({}, tmp_path).lab_student_limits == "runs_per_launch=5000 bundle_files=9"


def test_a_refusal_never_names_one_size_twice() -> None:
    """The message gives the bytes of a file that is a byte too large, not rounded KiB."""
    words = str(AllowanceError(STUDENT, "spec_bytes", STUDENT.spec_bytes + 1))
    assert words.startswith("Size of a spec file: 65,537 bytes; allowed: 65,536 bytes for ")


def test_a_refusal_says_who_can_raise_the_limit() -> None:
    assert str(AllowanceError(STUDENT, "runs_per_launch", 100_000)) == (
        "Runs in one launch: 100,000; allowed: 2,000 for a student. A teacher can do it for you, "
        "or the administrator can raise runs_per_launch in DOORBUSTER_LAB_STUDENT_LIMITS."
    )
    assert "command line" in str(AllowanceError(TEACHER, "expected_s_per_launch", 1e9))


@pytest.mark.parametrize("asked", [31 * 60, float("inf"), float("nan")])
def test_more_than_the_limit_is_refused(asked: float) -> None:
    """A text that is not a number is refused as well."""
    require(STUDENT, "expected_s_per_launch", 30 * 60)
    with pytest.raises(AllowanceError, match="allowed: 30 min for a student"):
        require(STUDENT, "expected_s_per_launch", asked)
