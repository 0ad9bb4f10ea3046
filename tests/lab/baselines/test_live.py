"""A very short comparison of both baseline proxies on a real appliance: their counts reconcile."""

import json
import signal
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest

from tests.lab.baselines.test_process import needs
from tests.lab.runner.test_live import doorbuster, folders, start
from tests.waiting import until

pytestmark = pytest.mark.timeout(600)

COMPARE = (
    *("compare", "--gateway", "haproxy,nginx", "--abandonment", "ignore,cancel"),
    *("--rho", "2", "--sessions", "200", "--time-scale", "20"),
)
FILES = {
    "haproxy": {"haproxy.cfg", "haproxy.log", "haproxy-errors.log"},
    "nginx": {"nginx.conf", "nginx.log", "nginx-errors.log"},
}


def proxies_of(folder: Path) -> list[int]:
    """Return the processes whose configuration is in this result."""
    return [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if any(str(folder) in word for word in process.info["cmdline"] or [])
        and (process.info["cmdline"] or [""])[0].endswith(("haproxy", "nginx"))
    ]


@pytest.mark.long
def test_both_proxies_interrupted_resumed_and_reconciled(appliance):
    for name in FILES:
        needs(name)
    before = folders(appliance)

    def begun():
        return [path.parent for path in folders(appliance) if path not in before]

    interrupted = start(appliance, *COMPARE)
    assert until(lambda: begun() and proxies_of(begun()[0]), within_s=240)
    folder = begun()[0]
    assert until(lambda: list(folder.glob("runs/*/proxy.json")), within_s=60)
    interrupted.send_signal(signal.SIGINT)
    interrupted.communicate(timeout=240)
    assert interrupted.returncode == 130
    assert proxies_of(folder) == []
    assert [str(path) for path in folder.glob("runs/*/proxy.json")] == []

    status, output = doorbuster(appliance, *COMPARE)
    assert status == 0, output
    assert "Counts reconcile in all 4 runs" in output
    assert proxies_of(folder) == []
    runs = {run.name.split("-rho")[0].partition("-")[2]: run for run in folder.glob("runs/*")}
    assert set(runs) == {"haproxy", "haproxy+cancel", "nginx", "nginx+cancel"}
    for key, run in runs.items():
        name = key.partition("+")[0]
        assert FILES[name] <= {file.name for file in run.iterdir()}
        summary = json.loads((run / "run.json").read_text(encoding="utf-8"))
        fates = summary["counts"]["after"]["gateway"]
        assert fates["Br-1"]["dropped"] > 0  # at twice the capacity
        # Who serves those who have left does not tell the shop of them.
        assert ("waste" in summary) == key.endswith("+cancel")
        samples = pq.read_table(run / "samples.parquet").to_pydict()
        assert set(samples["policy"]) == {name}
        assert None not in samples["waiting"] + samples["waiting_Br-1"] + samples["in_service"]
        total = sum(one["arrived"] for page, one in fates.items() if page != "other")
        assert samples["arrived_total"][-1] == total
    haproxy = pq.read_table(runs["haproxy"] / "samples.parquet").to_pydict()
    assert max(haproxy["waiting_Br-1"]) > 0
    assert max(haproxy["in_service"]) == 30
