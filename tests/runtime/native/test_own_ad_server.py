"""The temporary folder of a measured ad server: it goes with its owner, or after it."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from runtime.native import own_ad_server
from runtime.settings import REPOSITORY

_OWNER = """
import tempfile
from runtime.native import own_ad_server
with own_ad_server.own_folder() as folder:
    (folder / "postgres").mkdir()
    (folder / "postgres" / "data").write_text("large")
    print(folder, flush=True)
    input()
"""


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def owner():
    process = subprocess.Popen(
        [sys.executable, "-c", _OWNER],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    return process, Path(process.stdout.readline().strip())


def ended(process):
    with process:
        process.kill()


def test_it_goes_with_its_block(temporary):
    with own_ad_server.own_folder() as folder:
        assert folder.parent == temporary
    assert not list(temporary.iterdir())


def test_what_a_killed_process_left_is_removed_and_nothing_else(temporary):
    killed, left = owner()
    living, used = owner()
    unlocked = temporary / "doorbuster-ads-of-somebody"  # has no lock: who knows whose it is
    unlocked.mkdir()
    linked = temporary / "doorbuster-ads-linked"
    linked.symlink_to(left)
    try:
        ended(killed)
        assert left.is_dir()
        with own_ad_server.own_folder() as folder:
            assert set(temporary.iterdir()) == {folder, used, unlocked, linked}
    finally:
        ended(killed)
        ended(living)
