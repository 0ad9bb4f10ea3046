import dataclasses
import os
import subprocess
import sys
import tempfile

import pytest

from lab.experiments.errors import ExperimentError
from lab.experiments.machine import (
    describe_machine,
    describe_versions,
    fingerprint,
    live_run_lock,
)
from runtime.settings import REPOSITORY, load

HOLD = """
import sys
import tempfile
from lab.experiments.machine import live_run_lock
with live_run_lock():
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def own_lock(tmp_path, monkeypatch):
    """The lock in a folder of the test's own, whatever runs on this machine."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return {**os.environ, "TMPDIR": str(tmp_path)}


def test_one_live_run_at_a_time_and_the_holder_is_named(own_lock):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD],
        cwd=REPOSITORY,
        env=own_lock,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(ExperimentError, match=str(other.pid)), live_run_lock():
            pass
        other.kill()
        other.wait()
        with live_run_lock():  # the kernel frees a dead process's lock
            pass


def test_the_lock_is_free_again_after_an_error(own_lock):
    with pytest.raises(ZeroDivisionError), live_run_lock():
        raise ZeroDivisionError
    with live_run_lock():
        pass


def test_the_fingerprint_follows_what_decides_the_shops_speed():
    lab = load()
    assert fingerprint(lab) == fingerprint(load())
    assert fingerprint(dataclasses.replace(lab, shop_workers=7)) != fingerprint(lab)
    assert fingerprint(dataclasses.replace(lab, gateway_port=1)) == fingerprint(lab)


def test_a_result_can_say_where_and_with_what_it_was_measured():
    machine = describe_machine(load())
    assert machine["cpus"] >= 1
    assert machine["memory_gib"] >= 1
    versions = describe_versions()
    assert {"doorbuster", "code", "python", "django", "locust"} <= set(versions)


def test_a_result_says_which_parts_were_on_other_machines():
    assert "hosts" not in describe_machine(load({}))
    given = {"GATEWAY_HOST": "gateway", "SHOP_HOST": "10.0.0.5", "POSTGRES_HOST": "localhost"}
    elsewhere = load({f"DOORBUSTER_{name}": host for name, host in given.items()})
    assert describe_machine(elsewhere)["hosts"] == {"shop": "10.0.0.5", "gateway": "gateway"}


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make another user's file")
def test_a_lock_that_another_user_made_is_held(tmp_path, monkeypatch):
    """Linux refuses it to who would make it if it were not there (fs.protected_regular)."""
    tmp_path.chmod(0o1777)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    lock = tmp_path / "doorbuster-live-run.lock"
    lock.touch()
    lock.chmod(0o666)
    os.chown(lock, 65534, 65534)
    with live_run_lock():
        assert lock.read_text() == str(os.getpid())
