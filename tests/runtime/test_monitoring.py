"""The targets of Prometheus, and the programs that scrape them."""

import json
import signal
import stat
from pathlib import Path

import pytest
import yaml

from runtime import certificates, monitoring
from runtime.native import services
from runtime.settings import OPTIONAL_PORTS, load
from runtime.state import State
from tests import skips
from tests.programs import python


@pytest.fixture
def settings(tmp_path):
    return load(
        {
            "DOORBUSTER_STATE_DIR": str(tmp_path),
            "DOORBUSTER_POSTGRES_PASSWORD": "hunter2",
            "DOORBUSTER_CELERY_BROKER": "redis://:hunter2@broker:6379/1",
        }
    )


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install programs that print their version only."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def install(*jobs):
        for job in jobs:
            program = folder / monitoring.package(job)
            program.write_text("#!/bin/sh\necho 'it, version 2.42.0 (branch: debian)'\n")
            program.chmod(0o755)

    return install


def jobs_of(groups):
    return {group["labels"]["job"] for group in groups}


def configured():
    text = (monitoring.SOURCE / "prometheus.yml").read_text(encoding="utf-8")
    return {job["job_name"]: job for job in yaml.safe_load(text)["scrape_configs"]}


def test_the_targets_of_containers_are_those_of_the_default_ports():
    committed = json.loads((monitoring.SOURCE / "targets/compose.json").read_text("utf-8"))
    assert committed == monitoring.targets(load({}, Path("/nowhere")), monitoring.COMPOSE)


def test_every_target_has_a_job_that_takes_it_and_no_other():
    jobs = configured()
    everything = monitoring.targets(load({}, Path("/nowhere")), monitoring.COMPOSE)
    assert jobs_of(everything) | {"cpu-manager"} == set(jobs)
    for name, job in jobs.items():
        (keep,) = job["relabel_configs"]
        assert keep == {"source_labels": ["job"], "regex": name, "action": "keep"}
        assert job["file_sd_configs"][0]["files"] == ["targets/*.json"]


def test_a_scrape_ends_before_the_next_begins():
    text = (monitoring.SOURCE / "prometheus.yml").read_text(encoding="utf-8")
    usual = yaml.safe_load(text)["global"]
    for job in configured().values():
        every_s, within_s = (
            int({**usual, **job}[name].removesuffix("s"))
            for name in ("scrape_interval", "scrape_timeout")
        )
        assert within_s <= every_s


def test_every_job_has_limits_with_room():
    worst = {"gateway": 2 * 10 * 7 * 20 + 8 * 10 + 3 * 21 + 200}  # two policies, eight shadows
    for name, job in configured().items():
        assert 2 * worst.get(name, 300) <= job["sample_limit"] <= 20_000, name
        assert 15 <= job["label_limit"] <= 40, name
        assert 250 <= job["label_value_length_limit"] <= 1_000, name


def test_gateway_and_shop_say_whose_they_are():
    for group in monitoring.targets(load(), monitoring.native(load(), ["node"])):
        is_of_one = group["labels"]["job"] in ("gateway", "shop")
        assert (group["labels"].get("application") == "shop") is is_of_one
    for group in monitoring.application_targets("application-2", 1, [2, 3]):
        assert group["labels"]["application"] == "application-2"
    assert group["targets"] == ["127.0.0.1:2", "127.0.0.1:3"]


def test_a_configuration_is_whole_and_without_what_was_there(tmp_path):
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "old.yml").write_text("groups: []")
    (tmp_path / "data").mkdir()
    for _ in range(2):
        monitoring.configure(tmp_path, "appliance", [monitoring.group("node", ("::1", 8091))])
    found = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {
        "prometheus.yml", "rules/alerts.yml", "rules/recording.yml", "targets/appliance.json",
    }  # fmt: skip
    assert (tmp_path / "data").is_dir()
    (group,) = json.loads((tmp_path / "targets" / "appliance.json").read_text())
    assert group == {"targets": ["[::1]:8091"], "labels": {"job": "node"}}


def test_a_console_with_accounts_is_scraped_by_tls(tmp_path):
    given = certificates.make(tmp_path / "given", names=["lab.example.edu", "10.0.0.5"])
    own = certificates.make(tmp_path / "certificates")
    accounts = {"DOORBUSTER_STATE_DIR": str(tmp_path), "DOORBUSTER_LAB_ACCOUNTS": "1"}
    files = {
        "DOORBUSTER_LAB_TLS_CERTIFICATE": str(given.server),
        "DOORBUSTER_LAB_TLS_KEY": str(given.key),
    }
    for variables, server, name in (
        (accounts, own.server, "localhost"),
        (accounts | files, given.server, "lab.example.edu"),
    ):
        lab = load(variables)
        groups = monitoring.targets(lab, monitoring.native(lab, []))
        (console,) = (one["labels"] for one in groups if one["labels"]["job"] == "lab")
        assert console["__scheme__"] == "https"
        folder = monitoring.folder_of(lab.state_dir)
        monitoring.configure(folder, "appliance", groups, monitoring.trust(lab))
        written = yaml.safe_load((folder / "prometheus.yml").read_text())["scrape_configs"]
        (job,) = (job for job in written if job["job_name"] == "lab")
        assert job["tls_config"] == {"ca_file": "console.pem", "server_name": name}
        assert (folder / "console.pem").read_bytes() == server.read_bytes()
        assert [job for job in written if "tls_config" in job] == [job]
    plain = load({"DOORBUSTER_STATE_DIR": str(tmp_path)})
    assert monitoring.trust(plain) is None
    groups = monitoring.targets(plain, monitoring.native(plain, []))
    assert not [group for group in groups if "__scheme__" in group["labels"]]


def test_a_platform_is_scraped_while_it_runs(settings):
    targets = monitoring.folder_of(settings.state_dir) / "targets"
    groups = monitoring.application_targets("application-1", 1, [2])
    with monitoring.also_scraped(settings, "platform", groups):
        assert not targets.exists()  # nobody would read it
    targets.mkdir(parents=True)
    assert monitoring.scrapes_loopback(settings)
    with monitoring.also_scraped(settings, "platform", groups):
        assert json.loads((targets / "platform.json").read_text()) == groups
    assert list(targets.iterdir()) == []


def test_targets_of_a_platform_that_was_killed_are_forgotten(settings):
    """Targets of a living platform stay; the next platform of the same name starts without old
    ones."""
    targets = monitoring.folder_of(settings.state_dir) / "targets"
    targets.mkdir(parents=True)
    groups = monitoring.application_targets("application-1", 1, [2])
    with monitoring.also_scraped(settings, "race", groups):
        killed = python("-c", KILLED, settings.state_dir, json.dumps(groups))
        assert killed.returncode == -signal.SIGKILL
        assert json.loads((targets / "platform.json").read_text()) == groups
        monitoring.forget_dead(settings.state_dir)
        assert sorted(path.name for path in targets.iterdir()) == ["race.json", "race.owner"]
    assert list(targets.iterdir()) == []


KILLED = """
import json, os, signal, sys
from runtime import monitoring, settings
lab = settings.load({"DOORBUSTER_STATE_DIR": sys.argv[1]})
with monitoring.also_scraped(lab, "platform", json.loads(sys.argv[2])):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_in_containers_a_platform_is_scraped_by_nobody(tmp_path):
    variables = {"DOORBUSTER_STATE_DIR": str(tmp_path), "DOORBUSTER_INNER_HOST": "0.0.0.0"}
    targets = monitoring.folder_of(tmp_path) / "targets"
    targets.mkdir(parents=True)
    assert not monitoring.scrapes_loopback(load(variables))
    with monitoring.also_scraped(load(variables), "platform", []):
        assert list(targets.iterdir()) == []


def test_what_is_not_installed_is_not_there(installed):
    assert monitoring.find("prometheus") is None
    installed("prometheus", "node")
    assert monitoring.find("prometheus").version == "2.42.0"
    assert monitoring.missing() == ["prometheus-postgres-exporter", "prometheus-redis-exporter"]


def optional(settings):
    table = services.table(settings, State(settings.state_dir))
    return {service.name: service for service in table if service.is_optional}


@skips.needs_open_clone()
def test_exporters_run_where_prometheus_does(settings, installed):
    installed("node")
    assert optional(settings) == {}
    installed("prometheus")
    assert list(optional(settings)) == ["node-exporter", "prometheus"]
    optional(settings)["prometheus"].prepare()
    path = monitoring.folder_of(settings.state_dir) / "targets" / "appliance.json"
    exporters = {"node", "prometheus"}
    assert jobs_of(json.loads(path.read_text())) == {"gateway", "shop", "ads", "lab"} | exporters


@skips.needs_open_clone()
def test_it_can_be_switched_off(installed, tmp_path):
    installed("prometheus")
    variables = {"DOORBUSTER_STATE_DIR": str(tmp_path), "DOORBUSTER_MONITORING": "0"}
    assert optional(load(variables)) == {}


@skips.needs_open_clone()
def test_every_optional_service_has_a_port_of_its_own(settings, installed):
    installed("prometheus", *monitoring.EXPORTERS)
    variables = [service.port_variable for service in optional(settings).values()]
    assert len(set(variables)) == len(variables) == 4
    assert set(variables) <= OPTIONAL_PORTS
    for service in optional(settings).values():
        assert settings.ports()[service.port_variable] == service.port
        listens = any(str(service.port) in word for word in service.command())
        assert listens, service.command()


@skips.needs_open_clone()
def test_the_password_is_in_a_file_of_ours_alone(settings, installed):
    installed("prometheus", *monitoring.EXPORTERS)
    for service in optional(settings).values():
        service.prepare()
        assert not any("hunter2" in word for word in service.command())
    path = monitoring.folder_of(settings.state_dir) / "postgres-password"
    assert path.read_text() == "hunter2"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@skips.needs_open_clone()
def test_another_password_or_address_is_written_for_grafana(settings):
    def wanted(**changes):
        other = settings.changed(**changes)
        table = services.table(other, State(other.state_dir))
        return next(one.tables.wanted for one in table if one.name == "lab")

    said = wanted(results_password="first")
    assert wanted(results_password="first") == said
    assert wanted(results_password="second") != said
    assert wanted(results_password="first", lab_port=4711) != said
    assert "first" not in said
