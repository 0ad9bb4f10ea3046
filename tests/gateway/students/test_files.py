"""Files of students' policies: named by their path, identified by the digest of their content."""

import os

import pytest

from gateway.policies import PolicyError
from gateway.students import files
from gateway.students.calls import PolicyFile


def test_own_policies_are_listed_without_their_tests(tmp_path):
    for name in ("b.py", "a.py", "test_a.py", "_draft.py", "two words.py", "a.txt"):
        (tmp_path / name).write_text("")
    assert [path.rpartition("/")[2] for path in files.listed(tmp_path)] == ["a.py", "b.py"]
    assert files.listed(tmp_path / "nowhere") == []


def test_the_same_text_is_found_after_its_file_has_changed(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("x = 1\n")
    before = files.read(str(path))
    path.write_text("x = 2\n")
    assert files.known(str(path), before.sha256).text == "x = 1\n"
    assert files.read(str(path)).text == "x = 2\n"


def test_a_text_is_not_known_by_any_name():
    file = PolicyFile("own/mine.py", "x = 1\n")
    files.remember(file)
    assert files.known("own/other.py", file.sha256).text == file.text
    for name in ("own/sq.py", "own/two\nlines.py", "own/two words.py"):
        with pytest.raises(PolicyError):
            files.known(name, file.sha256)


def test_another_text_than_was_meant_is_refused(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("x = 'nobody has read this'\n")
    with pytest.raises(PolicyError, match="has changed since"):
        files.known(str(path), "0" * 64)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("nowhere.py", None, "No such file"),
        ("two words.py", b"x = 1", "the file's name must be a valid module name"),
        ("two\nlines.py", b"x = 1", "lines.py'?: must contain only printable characters"),
        ("null\0.py", None, "only printable characters"),
        ("sq.py", b"x = 1", "a policy of Doorbuster already has the name sq"),
        ("SQ.py", b"x = 1", "a policy of Doorbuster already has the name SQ"),
        ("\uff53q.py", b"x = 1", "must be in its Unicode normal form"),
        ("large.py", b"#" * (files.MOST_BYTES + 1), "is too large"),
        ("binary.py", b"\xff\xfe", "must be a text file"),
        ("broken.py", b"def f(:\n", "line 1: invalid syntax"),
        ("null.py", b"x = '\0'", "null bytes"),
        ("impure.py", b"import os\nimport time\n", "line 1: import os.*and 1 more"),
    ],
)
def test_what_cannot_be_a_policy_is_refused_in_one_line(name, content, words, tmp_path):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PolicyError, match=words) as refused:
        files.read(str(path))
    assert "\n" not in str(refused.value)


def test_what_never_ends_or_begins_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "folder.py").mkdir()
    for name in ("pipe.py", "folder.py"):
        with pytest.raises(PolicyError, match="is not a regular file"):
            files.read(str(tmp_path / name))


def test_half_a_pair_is_no_text():
    with pytest.raises(PolicyError, match="must be a text file"):
        files.checked(PolicyFile("own/x.py", "x = '\ud800'"))


def test_only_so_many_texts_are_remembered(monkeypatch):
    monkeypatch.setattr(files, "REMEMBERED", 2)
    monkeypatch.setattr(files, "remembered", type(files.remembered)())
    for number in range(3):
        files.remember(PolicyFile("own/x.py", f"x = {number}"))
    assert len(files.remembered) == 2
