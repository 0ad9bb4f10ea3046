"""The results of `policy new`: names and both files."""

import pytest

from gateway.students import purity
from lab.errors import SpecError
from lab.students.template import write_policy


def test_both_files_have_the_name(tmp_path):
    policy, test = write_policy("quiet-door", tmp_path / "own")
    assert (policy.name, test.name) == ("quiet_door.py", "test_quiet_door.py")
    text = policy.read_text()
    assert "class QuietDoor(" in text
    assert 'name="quiet-door"' in text
    assert "@" not in text + test.read_text()
    assert purity.impurities(text) == []


@pytest.mark.parametrize(
    "name", ["", "Loud", "7up", "a b", "../up", "x" * 41, "sq", "sbac", "nginx", "class", "heapq",
             "test-x", "a--b", "mine.py"],
)  # fmt: skip
def test_a_name_that_cannot_be_is_refused_and_nothing_is_written(name, tmp_path):
    with pytest.raises(SpecError, match=r"^NAME: .*; allowed: "):
        write_policy(name, tmp_path / "own")
    assert not (tmp_path / "own").exists()


def test_what_is_there_is_never_overwritten(tmp_path):
    policy, _ = write_policy("quiet-door", tmp_path)
    policy.write_text("mine")
    with pytest.raises(SpecError, match="exists and was not changed"):
        write_policy("quiet_door", tmp_path)
    assert policy.read_text() == "mine"
