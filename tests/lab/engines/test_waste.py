from types import SimpleNamespace

from lab.engines.waste import of_appliance, of_simulation

METERED = (
    "disconnects", "interrupted", "finished", "cancels_attempted", "cancels_effective",
    "cancels_too_late", "cancels_failed", "wasted_cpu_s", "wasted_database_s", "kept_cpu_s",
    "kept_database_s", "unanswered_cpu_s", "unanswered_database_s",
)  # fmt: skip


def counts(cpu_s, withdrawn, **metered):
    """As `Appliance.counts()` has them, of what the meter needs."""
    sentry = {"watching": 0, **dict.fromkeys(METERED, 0), **metered}
    return {"shop": {"cpu_s": cpu_s, "sentry": sentry}, "abandonment": {"withdrawn": withdrawn}}


def test_live_seconds_become_paper_seconds_and_counts_stay():
    before = counts(5.0, 3, disconnects=2, wasted_cpu_s=1.0, wasted_database_s=0.5)
    after = counts(
        25.0, 10, disconnects=8, interrupted=4, finished=2, wasted_cpu_s=3.0,
        wasted_database_s=1.0, unanswered_cpu_s=0.25, cancels_attempted=3, cancels_too_late=1,
    )  # fmt: skip
    found = of_appliance(before, after, 10.0)
    assert set(found) == {*METERED, "server_cpu_s", "withdrawn"}
    assert found["server_cpu_s"] == 200.0
    assert (found["wasted_cpu_s"], found["wasted_database_s"]) == (20.0, 5.0)
    assert found["unanswered_cpu_s"] == 2.5
    assert (found["disconnects"], found["interrupted"], found["finished"]) == (6, 4, 2)
    assert (found["cancels_attempted"], found["cancels_too_late"]) == (3, 1)
    assert found["withdrawn"] == 7


def test_a_simulation_has_the_same_block_without_a_database():
    simulated = SimpleNamespace(
        busy_s=100.0,
        wasted_busy_s=20.0,
        unanswered_busy_s=5.0,
        disconnects=9,
        cancelled=4,
        counts={"Br-1": {"withdrawn": 2}, "other": {"withdrawn": 1}},
    )
    found = of_simulation(simulated)
    assert set(found) == {*METERED, "server_cpu_s", "withdrawn"}
    assert (found["server_cpu_s"], found["wasted_cpu_s"], found["withdrawn"]) == (100.0, 20.0, 3)
    assert (found["interrupted"], found["finished"]) == (4, 5)
    missing = {name for name, value in found.items() if value is None}
    assert missing == {name for name in METERED if "database" in name or "cancels" in name}
