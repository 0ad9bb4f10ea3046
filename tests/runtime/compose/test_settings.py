"""The settings of Compose and containers: addresses, secrets, one source."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
import yaml

from runtime import credentials, monitoring
from runtime.compose import engine, services
from runtime.compose import settings as compose_settings
from runtime.compose.settings import Project
from runtime.native import postgres, redis_server
from runtime.settings import REPOSITORY, SettingsError, load
from runtime.state import State
from tests.programs import run

COMPOSE = yaml.safe_load((REPOSITORY / "docker-compose.yml").read_text(encoding="utf-8"))


def project(folder: Path, **variables: str) -> Project:
    state = State(folder / "state")
    state.make()
    credentials.make(state.folder)
    given = {
        "DOORBUSTER_STATE_DIR": str(state.folder),
        "DOORBUSTER_RESULTS_DIR": str(folder / "results"),
        **variables,
    }
    return Project(load(given, REPOSITORY), state)


def test_inside_parts_are_reached_by_the_names_of_their_services(tmp_path: Path) -> None:
    made = project(tmp_path)
    inside = made.inside()
    reached = {name: text for name, text in inside.items() if text in COMPOSE["services"]}
    assert reached == {
        f"DOORBUSTER_{part}_HOST": part.lower()
        for part in ("POSTGRES", "REDIS", "SHOP", "ADS", "GATEWAY")
    }
    # A process in a container reads them as settings without a fault.
    seen = load({**inside, "DOORBUSTER_STATE_DIR": str(tmp_path)}, tmp_path)
    assert seen.gateway_pages_host == seen.gateway_admin_host == "gateway"
    assert seen.ports() == made.settings.ports()


def test_the_broker_is_the_appliances_own_or_the_one_that_is_chosen(tmp_path: Path) -> None:
    broker = "DOORBUSTER_CELERY_BROKER"
    made = project(tmp_path)
    password = made.settings.redis_password
    assert password
    assert made.outside([])[broker] == f"redis://:{password}@broker:{made.settings.broker_port}/1"
    assert project(tmp_path, **{broker: "redis://else:1/1"}).outside([])[broker] == (
        "redis://else:1/1"
    )


NEEDED = {
    "postgres": {"POSTGRES"},
    "shop-prepare": {"POSTGRES"},
    "redis": {"REDIS"},
    "broker": {"REDIS"},
    "shop": {"POSTGRES", "SECRET_KEY", "REDIS", "TOKEN"},
    "ads-prepare": {"POSTGRES"},
    "ads": {"POSTGRES", "SECRET_KEY", "REDIS"},
    "gateway": {"COOKIE_KEY", "TOKEN"},
    "lab-prepare": {"POSTGRES", "RESULTS"},
    "lab-worker": {"POSTGRES", "SECRET_KEY", "COOKIE_KEY", "REDIS", "TOKEN", "BROKER", "GRIDS"},
    "lab": {"POSTGRES", "SECRET_KEY", "TOKEN", "BROKER", "GRIDS"},
    "grafana": {"RESULTS", "GRAFANA"},
    "postgres-exporter": {"POSTGRES"},
    "redis-exporter": {"REDIS"},
}
"""The secrets of each container; others have none."""


def test_each_container_has_the_secrets_it_needs_and_no_other(tmp_path: Path) -> None:
    """The test reads the file as Compose renders it, with its settings."""
    if shutil.which("docker") is None or engine.compose_version() is None:
        pytest.skip("there is no Docker Compose")
    secret = {
        "POSTGRES": "DOORBUSTER_POSTGRES_PASSWORD",
        "SECRET_KEY": "DOORBUSTER_SECRET_KEY",
        "COOKIE_KEY": "DOORBUSTER_GATEWAY_COOKIE_KEY",
        "RESULTS": "DOORBUSTER_RESULTS_PASSWORD",
        "GRAFANA": "DOORBUSTER_GRAFANA_ADMIN_PASSWORD",
        "REDIS": "DOORBUSTER_REDIS_PASSWORD",
        "TOKEN": "DOORBUSTER_INNER_TOKEN",
        "BROKER": compose_settings.BROKER,
        "GRIDS": compose_settings.GRID_BROKER,
    }
    assert set(secret.values()) == compose_settings.SECRETS
    made = project(
        tmp_path,
        DOORBUSTER_CELERY_BROKER="redis://:it-has-a-password@elsewhere:1/1",
        DOORBUSTER_GRID_BROKER="redis://:has-one-too@elsewhere:1/2",
    )
    made.write([])
    command = made.command("--profile", "*", "config", "--format", "json")
    rendered = run(*command, env=made.environment(), check=True).stdout
    texts = made.outside([])
    seen = {
        service: {short for short, name in secret.items() if texts[name] in json.dumps(told)}
        for service, told in json.loads(rendered)["services"].items()
    }
    assert {service: some for service, some in seen.items() if some} == NEEDED


def test_what_every_container_is_told_holds_no_secret(tmp_path: Path) -> None:
    made = project(tmp_path, DOORBUSTER_LAB_OIDC_CLIENT_SECRET="from-the-provider")
    assert made.outside([])["DOORBUSTER_LAB_OIDC_CLIENT_SECRET"] == "from-the-provider"
    assert not [name for name in made.inside() if "OIDC" in name]  # the console's alone
    assert not compose_settings.SECRETS & made.inside().keys()
    texts = made.outside([])
    assert not {texts[name] for name in compose_settings.SECRETS} & set(made.inside().values())


def test_secrets_are_for_their_owner_alone(tmp_path: Path) -> None:
    made = project(tmp_path)
    made.write([])
    for path in (made.compose_env, made.containers_env):
        assert path.stat().st_mode & 0o777 == 0o600
    assert made.settings.postgres_password in made.compose_env.read_text()


def test_what_cannot_be_quoted_is_refused_by_its_name(tmp_path: Path) -> None:
    made = project(tmp_path, DOORBUSTER_POSTGRES_PASSWORD="it's")
    with pytest.raises(SettingsError, match=r"^DOORBUSTER_POSTGRES_PASSWORD: cannot be passed"):
        made.write([])
    assert not made.compose_env.exists()


def test_two_clones_are_two_projects(tmp_path: Path) -> None:
    one, other = project(tmp_path / "one"), project(tmp_path / "other")
    assert one.name != other.name
    assert one.image != other.image
    assert re.fullmatch(r"doorbuster-[0-9a-f]{6}", one.name)


def test_the_database_servers_have_the_settings_of_the_native_runtime() -> None:
    options = compose_settings.postgres_options()
    for name in ("max_connections", "shared_buffers", "jit", "max_parallel_workers_per_gather"):
        assert f"-c {name}={postgres.CONFIGURATION[name]}" in options
    assert "listen_addresses" not in options
    for name in redis_server.CONFIGURATION:
        assert f"--{name} " in compose_settings.redis_options(redis_server.CONFIGURATION)


def test_every_variable_of_the_compose_file_is_given(tmp_path: Path) -> None:
    made = project(tmp_path)
    given = {*made.outside([]), *compose_settings.images()}
    text = (REPOSITORY / "docker-compose.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"\$\{([A-Z_]+)", text)) <= given


def test_every_service_starts_with_make_up_or_has_a_profile(tmp_path: Path) -> None:
    parts = services.table(project(tmp_path).settings, with_grafana=True)
    started = [service for part in parts for service in part.services]
    assert len(started) == len(set(started))
    assert set(COMPOSE["services"]) - set(started) == {"jaeger", "loadgen"}
    # In an order in which nothing waits for what comes later.
    for service in started:
        needs = COMPOSE["services"][service].get("depends_on", {})
        before = started[: started.index(service)]
        together = next(part.services for part in parts if service in part.services)
        assert set(needs) <= {*before, *together}, service


def test_what_ends_is_a_step_that_is_waited_for(tmp_path: Path) -> None:
    parts = services.table(project(tmp_path).settings, with_grafana=False)
    ending = {service for part in parts if part.ends for service in part.services}
    declared = COMPOSE["services"]
    assert ending == {name for name, each in declared.items() if each["restart"] == "no"}
    waited_for = {
        name
        for each in declared.values()
        for name, how in each.get("depends_on", {}).items()
        if how["condition"] == "service_completed_successfully"
    }
    assert waited_for == ending


@pytest.mark.parametrize("name", sorted(COMPOSE["services"]))
def test_every_container_is_confined(name: str) -> None:
    service = COMPOSE["services"][name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert service["mem_limit"]
    assert "privileged" not in service
    if name == "prometheus":  # it answers no page of strangers
        assert "--web.cors.origin=none" in service["command"]


def test_monitoring_off_starts_nothing_that_observes(tmp_path: Path) -> None:
    settings = project(tmp_path, DOORBUSTER_MONITORING="0").settings
    parts = services.table(settings, with_grafana=False)
    assert not {each for part in parts for each in part.services} & {
        *services.OBSERVERS,
        services.GRAFANA,
    }


def test_ports_are_published_at_addresses_whatever_the_hosts_are_called(tmp_path: Path) -> None:
    hosts = {"DOORBUSTER_HOST": "localhost", "DOORBUSTER_INNER_HOST": "::1"}
    outside = project(tmp_path, **hosts).outside([])
    assert outside["DOORBUSTER_PUBLISHED"] == "127.0.0.1"
    assert outside["DOORBUSTER_INNER_PUBLISHED"] == "[::1]"
    assert outside["DOORBUSTER_LAB_PUBLISHED"] in ("127.0.0.1", "[::1]")


def test_a_host_that_nobody_knows_is_said_by_its_variable(tmp_path: Path) -> None:
    made = project(tmp_path, DOORBUSTER_HOST="shop.invalid")
    with pytest.raises(SettingsError, match=r"^DOORBUSTER_HOST=shop\.invalid: this machine finds"):
        made.write([])
    assert not made.compose_env.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives the results to another user")
def test_results_that_root_made_are_handed_over_and_nothing_they_point_to(tmp_path: Path) -> None:
    made = project(tmp_path)
    result = made.settings.results_dir / "one" / "cells.csv"
    result.parent.mkdir(parents=True)
    result.touch()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.touch()
    (result.parent / "link").symlink_to(elsewhere)
    assert made.user == (compose_settings.UNPRIVILEGED, compose_settings.UNPRIVILEGED)
    made.write([])
    for path in (result, result.parent, result.parent / "link"):
        assert path.lstat().st_uid == compose_settings.UNPRIVILEGED
    assert elsewhere.stat().st_uid == 0


def test_what_other_users_read_is_readable_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        (tmp_path / "boards").mkdir()
        board = tmp_path / "boards" / "rush.json"
        board.touch()
        compose_settings.let_read(tmp_path / "boards")
        folder = tmp_path / "prometheus"
        monitoring.configure(folder, "compose", [])
    finally:
        os.umask(before)
    for path in (board.parent, board, folder, *folder.rglob("*")):
        needed = 0o055 if path.is_dir() else 0o044
        assert path.stat().st_mode & needed == needed, path


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has to give anything up")


@as_root
def test_root_takes_nobodys_results_away(tmp_path: Path) -> None:
    theirs = tmp_path / "results" / "20260101T000000Z-first"
    theirs.mkdir(parents=True)
    mine = theirs.parent / "of-root"
    mine.mkdir()
    for path in (theirs.parent, theirs):
        os.chown(path, 1234, 1235)
    made = project(tmp_path)
    assert made.user == (1234, 1235)
    made.write([])
    owners = [(path.stat().st_uid, path.stat().st_gid) for path in (theirs.parent, theirs, mine)]
    assert owners == [(1234, 1235)] * 3


@as_root
def test_ones_own_certificate_is_copied_for_the_user_of_the_containers(tmp_path: Path) -> None:
    certificate, key = tmp_path / "fullchain.pem", tmp_path / "privkey.pem"
    certificate.write_text("a certificate")
    key.write_text("a key")
    key.chmod(0o600)
    made = project(
        tmp_path,
        DOORBUSTER_GATEWAY_TLS_CERTIFICATE=str(certificate),
        DOORBUSTER_GATEWAY_TLS_KEY=str(key),
    )
    for _ in range(2):  # again, where there is one already
        made.write([])
        copy = Path(made.outside([])["DOORBUSTER_TLS_KEY"])
        assert copy.read_text() == "a key"
        assert (copy.stat().st_uid, copy.stat().st_mode & 0o777) == (made.user[0], 0o600)
    assert key.stat().st_uid == 0
    key.unlink()
    with pytest.raises(SettingsError, match=r"privkey\.pem cannot be read"):
        made.write([])


@as_root
def test_the_consoles_certificate_is_copied_beside_the_gateways(tmp_path: Path) -> None:
    given = {}
    for part in ("GATEWAY", "LAB"):
        for kind in ("CERTIFICATE", "KEY"):
            path = tmp_path / f"{part}-{kind}.pem"
            path.write_text(path.name)
            given[f"DOORBUSTER_{part}_TLS_{kind}"] = str(path)
    made = project(tmp_path, DOORBUSTER_LAB_ACCOUNTS="1", **given)
    made.write([])
    outside = made.outside([])
    assert Path(outside["DOORBUSTER_LAB_MOUNTED_KEY"]).read_text() == "LAB-KEY.pem"
    assert Path(outside["DOORBUSTER_TLS_KEY"]).read_text() == "GATEWAY-KEY.pem"
    assert outside["DOORBUSTER_LAB_SCHEME"] == "https"
    assert made.inside()["DOORBUSTER_LAB_TLS_KEY"] == "/etc/doorbuster/server-key.pem"
    without = project(tmp_path, **given).outside([])
    assert without["DOORBUSTER_LAB_MOUNTED_KEY"] == os.devnull
    assert without["DOORBUSTER_LAB_SCHEME"] == "http"


def test_redis_is_given_the_digest_of_its_password(tmp_path: Path) -> None:
    made = project(tmp_path)
    made.write([])
    text = made.redis_configuration.read_text()
    assert text.startswith("user default on #")
    assert made.settings.redis_password not in text


def test_buildx_is_told_that_the_build_may_read_its_secrets(tmp_path: Path) -> None:
    told = project(tmp_path).environment()
    assert told["BUILDX_BAKE_ENTITLEMENTS_FS"] == "0"
    assert "COMPOSE_BAKE" not in told
    of_the_machine = project(tmp_path, DOORBUSTER_BUILD_NETWORK="host")
    assert of_the_machine.environment()["COMPOSE_BAKE"] == "false"
