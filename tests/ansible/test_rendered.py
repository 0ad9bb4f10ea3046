"""Settings, firewall and accounts of a classroom and of four hosts, as the roles write them."""

import base64
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from runtime.compose.settings import SECRETS
from tests.ansible.playing import ANSIBLE, played, with_tools

pytestmark = [
    with_tools,
    pytest.mark.long,
]


def rendered(folder: Path, inventory: str, hosts: str, **more: Any) -> Path:
    given = {
        "rendered": str(folder / "rendered"),
        "doorbuster_secrets": str(folder / "secrets"),
        "ansible_facts": {"processor_nproc": 2},
        "ansible_python_interpreter": sys.executable,
        **more,
    }
    hosts_of = ANSIBLE / "inventories" / inventory / "hosts.yml"
    playbook = Path(__file__).with_name("rendered.yml")
    extra = json.dumps(given)
    status, said = played(folder, "-i", hosts_of, playbook, "--limit", hosts, "--extra-vars", extra)
    assert status == 0, said
    return folder / "rendered"


def settings_of(host: Path) -> dict[str, str]:
    lines = (host / "environment").read_text().splitlines()
    pairs = (line.split("=", 1) for line in lines if not line.startswith("#"))
    return {name: text.strip("'") for name, text in pairs}


@pytest.fixture(scope="module")
def classroom(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("classroom")
    return rendered(folder, "classroom", "teacher:student-01:student-02")


@pytest.fixture(scope="module")
def sentry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rendered(tmp_path_factory.mktemp("sentry"), "connection-sentry", "host")


def test_a_student_has_one_secret(classroom: Path) -> None:
    for student in ("student-01", "student-02"):
        settings = settings_of(classroom / student)
        assert settings.keys() & SECRETS == {"DOORBUSTER_GRID_BROKER"}
        assert f"//grid-{student}:" in settings["DOORBUSTER_GRID_BROKER"]
        assert "DOORBUSTER_REDIS_PASSWORD" not in settings


def test_no_two_hosts_share_one(classroom: Path) -> None:
    secrets = {path.read_text().split()[0] for path in (classroom.parent / "secrets").iterdir()}
    assert len(secrets) == len(list((classroom.parent / "secrets").iterdir()))
    text = {path.name: (path / "environment").read_text() for path in classroom.iterdir()}
    held = {name: {one for one in secrets if one in text[name]} for name in text}
    assert len(held["student-01"]) == len(held["student-02"]) == 1
    assert not held["student-01"] & held["student-02"]
    assert not held["teacher"] & (held["student-01"] | held["student-02"])


def test_redis_has_digests_only(classroom: Path) -> None:
    """The shop's server has the accounts of shop and exporter; that of the queues has
    the others."""
    sessions = (classroom / "teacher" / "redis.conf").read_text()
    queues = (classroom / "teacher" / "broker.conf").read_text()
    text = sessions + queues
    for path in (classroom.parent / "secrets").iterdir():
        assert path.read_text().split()[0] not in text
    account = re.compile(r"^user (\S+) on #[0-9a-f]{64} ", re.MULTILINE)
    assert account.findall(sessions) == ["default", "monitoring"]
    assert "user default off" in queues
    accounts = account.findall(queues)
    assert accounts[:1] == ["console"]
    assert accounts[1:] == [f"grid-student-{number:02}" for number in range(1, 21)]


def test_students_are_let_in_to_the_queues_alone(classroom: Path) -> None:
    rules = (classroom / "teacher" / "firewall.nft").read_text()
    (inner,) = re.findall(r"ip saddr { ([^}]*) } accept", rules)
    assert inner == "10.0.0.11"
    ((students, port),) = re.findall(r"ip saddr { ([^}]*) } tcp dport (\d+)", rules)
    assert (students.split(", ")[0], port) == ("10.0.0.101", "6380")
    database = (classroom / "teacher" / "pg_hba.conf").read_text()
    assert "10.0.0.11/32" in database
    assert "10.0.0.101" not in database


def test_each_tier_has_the_secrets_of_its_part(sentry: Path) -> None:
    """The secrets are those of the containers in tests/runtime/compose/test_settings.py."""
    had = {host.name: settings_of(host).keys() & SECRETS for host in sentry.iterdir()}
    assert had["web"] == {"DOORBUSTER_GATEWAY_COOKIE_KEY", "DOORBUSTER_INNER_TOKEN"}
    assert had["application"] == {
        "DOORBUSTER_POSTGRES_PASSWORD", "DOORBUSTER_SECRET_KEY", "DOORBUSTER_REDIS_PASSWORD",
        "DOORBUSTER_INNER_TOKEN",
    }  # fmt: skip
    assert had["database"] == set()
    assert "DOORBUSTER_CELERY_BROKER" in had["client"]
    assert "DOORBUSTER_GRAFANA_ADMIN_PASSWORD" not in had["client"]


def units_of(host: Path) -> set[str]:
    return set(json.loads((host / "units.json").read_text()))


def test_a_host_runs_the_parts_of_its_groups(classroom: Path, tmp_path: Path) -> None:
    """Other units of doorbuster are removed there, and `make lab-verify` checks these."""
    assert units_of(classroom / "student-01") == {"doorbuster-grid-worker.service"}
    assert units_of(classroom / "teacher") >= {
        *(
            "postgresql@*-main.service",
            "redis-server.service",
            "redis-server@broker.service",
            "prometheus.service",
        ),
        *(f"doorbuster-{part}.service" for part in ("shop", "ads", "gateway", "lab")),
        "doorbuster-lab-worker.service",
    }
    workers = {f"doorbuster-loadgen-{number}.service" for number in (1, 2)}
    here = rendered(tmp_path, "sbac", "client-2", loadgen_workers=2)
    assert units_of(here / "client-2") == workers
    here = rendered(tmp_path, "sbac", "client-2")
    assert units_of(here / "client-2") == workers - {"doorbuster-loadgen-2.service"}


SSHD_SAYS = """port 2222
addressfamily any
listenaddress [::]:2222
listenaddress 10.0.0.11:2022
portable no"""


def let_in_by_ssh(folder: Path, **found: Any) -> tuple[list[int], str]:
    """Return the ports and all the rules, for these findings of earlier tasks."""
    rules = (rendered(folder, "single-host", "here", **found) / "here/firewall.nft").read_text()
    (ports,) = re.findall(r"tcp dport { ([^}]*) } accept # ssh", rules)
    return [int(port) for port in ports.split(", ")], rules


def test_nobody_who_provisions_is_locked_out(tmp_path: Path) -> None:
    """SSH stays open on sshd's ports, systemd's for it, the inventory's and this session's."""
    assert let_in_by_ssh(tmp_path)[0] == [22]
    socket = "Listen=[::]:2122 (Stream)\nListen=/run/ssh (Stream)\nListen=0.0.0.0:53 (Datagram)"
    found: dict[str, Any] = {
        "host_sshd": {"results": [{"stdout": SSHD_SAYS}, {"stdout": socket}]},
        "host_session": {"stdout": "10.0.0.1 50000 10.0.0.11 2322"},
    }
    ports, rules = let_in_by_ssh(tmp_path, ansible_port=2422, **found)
    assert ports == [22, 2022, 2122, 2222, 2322, 2422]
    # The next run: by another port, which was let in already, and with sshd's own moved.
    content = base64.b64encode(rules.encode()).decode()
    by_another = {"host_session": {"stdout": "10.0.0.1 50000 10.0.0.11 2222"}}
    again = let_in_by_ssh(tmp_path, host_rules={"content": content}, **by_another)
    assert again == (ports, rules)


def test_a_host_without_sshd_and_a_session_without_ssh(tmp_path: Path) -> None:
    nothing = {"results": [{"rc": 2, "msg": "no such file"}, {"stdout": "Listen="}]}
    ports, _ = let_in_by_ssh(tmp_path, host_sshd=nothing, host_session={"stdout": "", "rc": 1})
    assert ports == [22]
