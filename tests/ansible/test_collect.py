"""`make lab-collect` of this machine as a host: the collected files, and the remains."""

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.ansible.playing import played, with_tools

pytestmark = [with_tools, pytest.mark.long]


def archives() -> set[Path]:
    return {path for place in ("/tmp", "/var/tmp") for path in Path(place).glob("*.doorbuster")}


def collected(folder: Path, results: Path) -> tuple[int, str, set[Path]]:
    """Return status, output, and the archives' folders that remain."""
    inventory = folder / "hosts.json"
    here = {"ansible_connection": "local", "ansible_become": False}
    inventory.write_text(json.dumps({"host": {"hosts": {"here": here}}}))
    given = {"doorbuster_results": str(results), "doorbuster_collected": str(folder / "collected")}
    before = archives()
    status, said = played(folder, "-i", inventory, "collect.yml", "--extra-vars", json.dumps(given))
    return status, said, archives() - before


def test_results_come_and_no_archive_stays(tmp_path: Path) -> None:
    results = tmp_path / "results"
    (results / "rush").mkdir(parents=True)
    (results / "rush/plan.json").write_text("{}")
    status, said, left = collected(tmp_path, results)
    assert status == 0, said
    assert (tmp_path / "collected/here/rush/plan.json").read_text() == "{}"
    assert {path.name for path in (tmp_path / "collected/here").iterdir()} == {"rush"}
    assert not left


def test_results_come_while_a_run_writes(tmp_path: Path) -> None:
    """A file that grows while it is packed is no failure of the collection."""
    results = tmp_path / "results"
    results.mkdir()
    attempts = results / "attempts.log"
    attempts.write_bytes(os.urandom(32 << 20))
    is_over = threading.Event()

    def write() -> None:
        with attempts.open("ab", buffering=0) as log:
            while not is_over.wait(0.005):
                log.write(b"one more")

    with ThreadPoolExecutor() as threads:
        threads.submit(write)
        try:
            status, said, left = collected(tmp_path, results)
        finally:
            is_over.set()
    assert status == 0, said
    assert (tmp_path / "collected/here/attempts.log").stat().st_size > 32 << 20
    assert not left


def test_no_archive_stays_where_something_fails(tmp_path: Path) -> None:
    status, said, left = collected(tmp_path, tmp_path / "nowhere")
    assert status != 0
    assert "nowhere" in said
    assert not left
