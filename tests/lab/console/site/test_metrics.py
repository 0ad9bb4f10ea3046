"""The lab's figures for Prometheus, from a console as it really is."""

import json

import pytest
from prometheus_client.parser import text_string_to_metric_families

from lab.engines.live.announcement import RunAnnouncement
from tests.waiting import until

RUN = {
    "experiment": "a", "run": "001", "policy": "sq", "admission": "none", "abandonment": "cancel",
    "rho": "1.4", "started_at": 1_700_000_000.5,
}  # fmt: skip
CUSTOMERS = {
    "event": "progress", "planned": 100, "started": 40, "ended": 30, "confirms": 2,
    "late_attempts": 1, "behind_s": 0.25, "outcomes": {"completed": 50, "dropped": 7},
}  # fmt: skip


def figures(console):
    """Name → labels' values → value."""
    answer = console.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    found = {}
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            labels = tuple(sample.labels.values())
            found.setdefault(sample.name.removeprefix("doorbuster_lab_"), {})[labels] = sample.value
    return found


@pytest.mark.long
def test_launches_are_counted_in_every_state(console):
    before = figures(console)["launches"][("simulated", "done")]
    launch = console.launch("Metrics", sessions=60)
    console.wait_until(launch, "done", "failed")
    launches = figures(console)["launches"]
    assert launches[("simulated", "done")] == before + 1
    assert launches[("live", "running")] == 0
    assert len(launches) == 12


def test_a_live_run_is_told_whoever_has_started_it(console):
    assert "run_info" not in figures(console)
    run = RunAnnouncement(console.state, RUN)
    try:
        found = figures(console)
        labels = ("a", "001", "sq", "none", "cancel", "1.4")
        assert {frozenset(key) for key in found["run_info"]} == {frozenset(labels)}
        assert found["run_start_timestamp_seconds"] == {("a", "001"): RUN["started_at"]}
        assert "run_attempts_total" not in found  # the customers have said nothing yet
        run.tell(CUSTOMERS)
        found = figures(console)
        attempts = {frozenset(key): n for key, n in found["run_attempts_total"].items()}
        assert attempts[frozenset(("a", "001", "dropped"))] == 7
        assert found["run_schedule_lag_seconds"] == {("a", "001"): 0.25}
        assert found["run_planned_sessions"] == {("a", "001"): 100}
        assert sorted(found["run_sessions_total"].values()) == [30, 40]
    finally:
        run.close()
    assert "run_info" not in figures(console)


def test_runs_that_do_not_reconcile_are_counted(console):
    folder = console.results / "99990101T000000Z-wrong"  # the newest
    for number, reconciles in ((1, True), (2, False)):
        run = folder / "runs" / f"00{number}-sq-seed1"
        run.mkdir(parents=True)
        (run / "run.json").write_text(json.dumps({"reconciles": reconciles}))
    planned = [{"number": n, "policy": "sq", "rho": None, "seed": 1} for n in (1, 2, 3)]
    (folder / "plan.json").write_text(json.dumps(planned))
    for _ in range(2):  # also when it is remembered
        found = figures(console)
        assert found["finished_runs"][(folder.name,)] == 2
        assert found["unreconciled_runs"][(folder.name,)] == 1
    (folder / "plan.json").write_text('{"of": "another kind"}')
    assert (folder.name,) not in figures(console).get("finished_runs", {})


def test_viewers_are_counted(console):
    assert figures(console)["viewers"][()] == 0
    with console.session.get(console.url("/watch/stream"), stream=True, timeout=240) as stream:
        lines = stream.iter_lines()  # kept: with its last reader a stream is closed
        assert next(lines)
        until(lambda: figures(console)["viewers"][()] == 1, "the viewer to be counted")
    until(lambda: figures(console)["viewers"][()] == 0, "the viewer to be gone")
