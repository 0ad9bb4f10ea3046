"""The cache of texts that a process has loaded."""

import pytest

from gateway.students import naming
from gateway.students.calls import PolicyFile
from tests.gateway.students.policies import source


def test_the_one_in_force_is_not_forgotten(monkeypatch):
    """A repeated text needs no process, however many others came between."""
    monkeypatch.setattr(naming, "remembered", type(naming.remembered)())
    monkeypatch.setattr(naming, "REMEMBERED", 2)
    in_force, *others = (PolicyFile("own/x.py", f"{source()}# {n}\n") for n in range(4))
    naming.sheet_of_file(in_force)
    for other in others:
        naming.sheet_of_file(other)
        with monkeypatch.context() as patched:
            patched.setattr(naming, "Child", lambda *_: pytest.fail("a process is started"))
            assert naming.sheet_of_file(in_force).name == "plain"
            assert {"limits", "seccomp"} <= naming.confinement_of_file(in_force).keys()
    assert list(naming.remembered) == [others[-1].sha256, in_force.sha256]
