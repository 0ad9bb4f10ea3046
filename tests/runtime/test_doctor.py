"""The doctor shows every condition, and how to fix it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from runtime import accounts, certificate_files, certificates, doctor
from runtime.accounts import Account
from runtime.doctor import Verdict, shared_memory_fault
from runtime.native import services
from runtime.native.supervision import Supervisor
from runtime.settings import REPOSITORY, load
from runtime.state import State
from tests.runtime.conftest import Appliance

pytestmark = pytest.mark.slow


def test_a_machine_that_can_run_it(appliance: Appliance) -> None:
    code, printed = appliance.run("doctor")
    assert code == 0, printed
    subjects = ["Python", "Environment", "Settings", "State folder", "Disk", "Memory", "Open files"]
    subjects += ["CPUs", "Docker", "Runtime", "PostgreSQL", "Redis", "Running", "Ports", "httperf"]
    for subject in subjects:
        assert f" {subject} " in printed
    assert "✗" not in printed


def test_what_keeps_it_from_running_is_marked_and_counted(
    appliance: Appliance, tmp_path: Path
) -> None:
    code, printed = appliance.run(
        "doctor", DOORBUSTER_POSTGRES_BIN=str(tmp_path), DOORBUSTER_REDIS_BIN=str(tmp_path)
    )
    assert code == 1
    assert "✗ PostgreSQL" in printed
    assert "✗ Redis" in printed
    assert "2 of these faults keep Doorbuster from running" in printed


def test_sharing_a_cpu_is_a_warning_not_an_error(appliance: Appliance) -> None:
    code, printed = appliance.run("doctor", DOORBUSTER_SHOP_CPUS="0", DOORBUSTER_OTHER_CPUS="0")
    assert code == 0
    assert "! CPUs" in printed


@pytest.mark.parametrize(
    ("valid_days", "words"),
    [(1, "expired on "), (4, "expires soon, on ")],  # from yesterday on
)
def test_a_certificate_that_ends_is_named_with_its_mend(
    appliance, tmp_path, monkeypatch, valid_days, words
):
    """It may be the appliance's certificate, or one that another authority has signed."""
    appliance.state.make()
    own = certificate_files.of(appliance.settings.state_dir)
    with monkeypatch.context() as patch:
        patch.setattr(certificates, "VALID_DAYS", valid_days)
        for folder in (own.folder, tmp_path):
            made = certificates.make(folder, names=certificates.own_names())
    code, printed = appliance.run("doctor")
    said = " ".join(printed.split())
    assert code == 0, printed
    assert f"! Certificate {words}" in said
    assert "fix: make down, then make up, which creates a new certificate" in said
    code, printed = appliance.run(
        "doctor",
        DOORBUSTER_GATEWAY_TLS_CERTIFICATE=str(made.server),
        DOORBUSTER_GATEWAY_TLS_KEY=str(made.key),
    )
    said = " ".join(printed.split())
    assert code == 0, printed
    assert f"! Certificate {made.server}, your own certificate: {words}" in said
    assert "fix: replace the certificate and its key" in said


def test_shared_memory_that_postgresql_cannot_write_is_named_with_its_fix(tmp_path: Path) -> None:
    """The account that runs PostgreSQL decides, also if root runs the doctor."""
    folder = tmp_path / "shm"
    folder.mkdir(mode=0o755)
    account = Account("postgres", uid=64_999, gid=64_999)
    assert f"the user postgres cannot write to {folder}" in shared_memory_fault(folder, account)
    folder.chmod(0o1777)
    assert shared_memory_fault(folder, account) == shared_memory_fault(folder, None) == ""
    fault = shared_memory_fault(tmp_path / "missing", None)
    assert fault.endswith(
        f"fix: `mount -t tmpfs -o mode=1777 tmpfs {tmp_path / 'missing'}` as root"
    )


def test_the_doctor_says_whether_other_people_reach_the_inner_host(appliance: Appliance) -> None:
    code, printed = appliance.run("doctor", DOORBUSTER_INNER_TOKEN_REQUIRED="1")
    assert code == 0
    assert "✓ Inner host         admin API and controller on 127.0.0.1 need a token" in printed
    code, printed = appliance.run("doctor", DOORBUSTER_INNER_TOKEN_REQUIRED="0")
    assert code == 0
    if people := accounts.others():
        assert (
            "! Inner host         admin API and controller on 127.0.0.1 accept calls of" in printed
        )
        assert people[0] in printed
        assert "DOORBUSTER_INNER_TOKEN_REQUIRED=1" in printed
    else:
        assert "✓ Inner host" in printed


def test_programs_get_the_findings_as_json(appliance: Appliance) -> None:
    code, printed = appliance.run("doctor", "--json", DOORBUSTER_SHOP_WORKERS="many")
    answer = json.loads(printed)
    assert code == 1
    assert answer["runs"] is False
    (bad,) = [one for one in answer["findings"] if one["verdict"] == "bad"]
    assert bad["subject"] == "Settings"
    assert "SHOP_WORKERS" in bad["found"]
    assert bad["fix"]


@pytest.mark.parametrize("optional", [True, False])
def test_a_service_that_was_installed_after_the_start_is_named_with_its_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, optional: bool
) -> None:
    """The supervisor knows only the services of its start; `make up` restarts it with all."""
    settings = load({"DOORBUSTER_STATE_DIR": str(tmp_path)}, REPOSITORY)
    added = replace(services.gateway(settings), port_variable="ONE_PORT" if optional else "")
    monkeypatch.setattr(Supervisor, "is_running", lambda _: True)
    monkeypatch.setattr(Supervisor, "states", lambda _: {})
    monkeypatch.setattr(services, "table", lambda *_: [added])
    [finding] = doctor.running(settings, State(tmp_path))
    assert finding.verdict is (Verdict.BEWARE if optional else Verdict.BAD)
    assert finding.found == "does not run: it was installed or turned on after the start"
    assert finding.fix == "make up, which starts it and restarts all other services"
