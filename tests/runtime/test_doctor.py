"""The doctor says of every condition what it is, and how to mend it."""

from pathlib import Path

from tests.runtime.conftest import Appliance


def test_a_machine_that_can_run_it(appliance: Appliance) -> None:
    code, printed = appliance.run("doctor")
    assert code == 0, printed
    subjects = ["Python", "Environment", "Settings", "State folder", "Disk", "Memory", "Open files"]
    for subject in [*subjects, "CPUs", "PostgreSQL", "Redis", "Running", "Ports", "httperf"]:
        assert f" {subject} " in printed
    assert "✗" not in printed


def test_what_keeps_it_from_running_is_marked_and_counted(
    appliance: Appliance, tmp_path: Path
) -> None:
    code, printed = appliance.run(
        "doctor",
        DOORBUSTER_POSTGRES_BIN=str(tmp_path),
        DOORBUSTER_REDIS_BIN=str(tmp_path),
    )
    assert code == 1
    assert "✗ PostgreSQL" in printed
    assert "✗ Redis" in printed
    assert "2 of these keep Doorbuster from running" in printed


def test_a_wrong_setting_is_the_diagnosis(appliance: Appliance) -> None:
    code, printed = appliance.run("doctor", DOORBUSTER_SHOP_WORKERS="many")
    assert code == 1
    assert "✗ Settings           DOORBUSTER_SHOP_WORKERS=many" in printed


def test_sharing_a_cpu_is_a_warning_not_an_error(appliance: Appliance) -> None:
    code, printed = appliance.run("doctor", DOORBUSTER_SHOP_CPUS="0", DOORBUSTER_OTHER_CPUS="0")
    assert code == 0
    assert "! CPUs" in printed
