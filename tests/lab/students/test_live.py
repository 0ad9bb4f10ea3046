"""Students' policies in live runs on a real appliance: one that is good, one that is given up."""

import json

import pyarrow.parquet as pq
import pytest

from lab.students.template import write_policy
from tests.gateway.students.policies import source
from tests.lab.runner.test_live import doorbuster, folders

LATE = "did not return within"
"""A machine with much else to do may not let a policy answer in time."""

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]


def test_they_run_beside_a_known_one_and_nobody_is_lost(appliance, tmp_path):
    good, _ = write_policy("quiet-door", tmp_path / "own")
    bad = tmp_path / "own" / "bad.py"
    bad.write_text(source(workers_free="1 / (self.times < 300)"))
    status, output = doorbuster(
        appliance, "compare", "--policies", f"{good},{bad},sq", "--rho", "1.4",
        "--sessions", "300", "--time-scale", "20",
    )  # fmt: skip
    assert status == 0, output
    assert "Counts reconcile in all 3 runs" in output
    assert "FELL BACK TO FIFO: bad at ρ = 1.4" in " ".join(output.split())
    folder = folders(appliance)[-1].parent
    assert {path.name for path in (folder / "policies").iterdir()} == {"quiet_door.py", "bad.py"}
    summaries = {
        run.name.split("-")[1]: json.loads((run / "run.json").read_text())
        for run in (folder / "runs").iterdir()
    }
    why = summaries["bad"]["fallen_back"]["reason"]
    assert "ZeroDivisionError" in why or LATE in why
    assert summaries["sq"]["fallen_back"] is None
    fallen_back = summaries["quiet_door"]["fallen_back"]
    assert fallen_back is None or LATE in fallen_back["reason"]
    (run,) = (folder / "runs").glob("*quiet_door*")
    assert set(pq.read_table(run / "samples.parquet")["policy"].to_pylist()) == {"quiet_door"}
