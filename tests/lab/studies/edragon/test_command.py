"""A whole reproduction of eDragon, made tiny: simulated through the command."""

import csv

import pytest
from click.testing import CliRunner

from doorbuster.commands import main
from lab.files.documents import read_json
from lab.studies.edragon import cases as edragon_cases

TINY = edragon_cases.Scale((0.5, 8.0), 60.0, edragon_cases.shortened(36), 2)


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    monkeypatch.setenv("DOORBUSTER_RESULTS_DIR", str(tmp_path))
    monkeypatch.setitem(edragon_cases.SCALES["simulated"], True, TINY)
    return tmp_path


def test_a_tiny_reproduction_is_simulated_and_reported(tiny):
    done = CliRunner().invoke(
        main, ["reproduce", "edragon", "--quick", "--repetitions", "2", "--processes", "1"]
    )
    assert done.exit_code == 0, done.output
    (folder,) = tiny.iterdir()
    # Two servers under two loads, five arrangements, twice each.
    assert len(list((folder / "simulations").iterdir())) == 2 * (2 * 2 + 5)
    figures = {path.name for path in (folder / "figures").glob("*.png")}
    assert figures == {f"figure-{i}.png" for i in (1, *range(4, 12))}
    decided = read_json(folder / "claims.json")
    assert not [row for row in decided if row["Found"] == "no runs yet"]
    with (folder / "figures" / "figure-9.csv").open() as lines:
        rows = [row for row in csv.DictReader(lines) if row["panel"] == "9, bottom"]
    assigned = {}
    for row in rows:
        assigned.setdefault(row["x"], []).append(float(row["mean"]))
    assert assigned
    assert all(len(each) == 2 and 0 < sum(each) <= 4 + 1e-9 for each in assigned.values())
    page = (folder / "report.html").read_text()
    assert "The paper prints the loads of zones" in page
    assert "Traceback" not in done.output
