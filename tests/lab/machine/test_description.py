from importlib import metadata

import pytest

from lab.machine import description as machine
from lab.machine.description import describe_machine, describe_versions, fingerprint
from runtime.settings import REPOSITORY, load


def test_the_fingerprint_follows_what_decides_the_shops_speed():
    lab = load()
    assert fingerprint(lab) == fingerprint(load())
    assert fingerprint(lab.changed(shop_workers=7)) != fingerprint(lab)
    assert fingerprint(lab.changed(gateway_port=1)) == fingerprint(lab)


def test_a_result_can_say_where_and_with_what_it_was_measured():
    machine = describe_machine(load())
    assert machine["cpus"] >= 1
    assert machine["memory_gib"] >= 1
    versions = describe_versions()
    assert {"doorbuster", "code", "python", "django", "locust"} <= set(versions)


def test_the_version_is_the_commit_whoever_owns_the_folder(monkeypatch):
    """Git refuses a folder of another user; the version is its commit all the same."""
    ours = machine.commit.__wrapped__()
    assert ("commit unknown" in ours) == (not (REPOSITORY / ".git").exists())
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    assert machine.commit.__wrapped__() == ours


def test_a_version_without_a_commit_says_so(monkeypatch, tmp_path):
    """A copy without its history has the release as its version, and no more."""
    monkeypatch.setattr(machine, "ROOT", tmp_path)
    assert machine.commit.__wrapped__() == f"{metadata.version('doorbuster')}, commit unknown"


def test_a_result_says_which_parts_were_on_other_machines():
    assert "hosts" not in describe_machine(load({}))
    given = {"GATEWAY_HOST": "gateway", "SHOP_HOST": "10.0.0.5", "POSTGRES_HOST": "localhost"}
    elsewhere = load({f"DOORBUSTER_{name}": host for name, host in given.items()})
    assert describe_machine(elsewhere)["hosts"] == {"shop": "10.0.0.5", "gateway": "gateway"}


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("common/cpus.py", True),
        ("gateway/students/host.py", True),
        ("lab/runner/simulated.py", True),
        ("gateway/http/parsing.py", False),
        ("lab/cli/command.py", False),
        ("lab/report/page.py", False),
        ("lab/lessons/sheet.py", False),
    ],
)
def test_digest_covers_simulated_runs(tmp_path, monkeypatch, file, counts):
    """The digest changes with the code that simulates, and not with reports and commands."""
    monkeypatch.setattr(machine, "ROOT", tmp_path)
    before = machine.code_digest.__wrapped__()
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text("1\n")
    assert (machine.code_digest.__wrapped__() != before) is counts


def test_digest_names_folders_that_exist():
    """A folder that has moved would silently leave the digest."""
    assert all(any((machine.ROOT / folder).glob("*.py")) for folder in machine.SIMULATED)
