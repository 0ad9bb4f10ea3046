"""The playbooks' settings of the appliance, PostgreSQL and Redis equal those of the runtime."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from runtime.compose import settings as compose_settings
from runtime.native import postgres, redis_server
from runtime.settings import REPOSITORY, load
from tests.ansible.playing import ANSIBLE, COLLECTION, ROLES

INVENTORIES = sorted(path.parent for path in ANSIBLE.glob("inventories/*/hosts.yml"))

# Of PostgreSQL's configuration, what says where it listens and logs: the distribution's own.
OF_NATIVE_POSTGRES = {
    "listen_addresses",
    "unix_socket_directories",
    "lc_messages",
    "log_destination",
    "logging_collector",
    "log_line_prefix",
}
# Of one machine alone: which programs it runs.
OF_ONE_MACHINE = {"DOORBUSTER_POSTGRES_BIN", "DOORBUSTER_REDIS_BIN"}


def read(path: Path) -> dict[str, Any]:
    return dict(yaml.safe_load(path.read_text(encoding="utf-8")))


def test_every_setting_is_written(tmp_path: Path) -> None:
    given = {
        "DOORBUSTER_GATEWAY_HOST": "127.0.0.1",
        "DOORBUSTER_GRID_BROKER": "redis://127.0.0.1:6380/2",
    }
    secrets = {
        f"DOORBUSTER_{name}": "x" * 32
        for name in (
            "POSTGRES_PASSWORD",
            "SECRET_KEY",
            "GATEWAY_COOKIE_KEY",
            "RESULTS_PASSWORD",
            "GRAFANA_ADMIN_PASSWORD",
            "REDIS_PASSWORD",
            "INNER_TOKEN",
        )
    }
    known = load({**given, **secrets}, tmp_path).variables().keys() - OF_ONE_MACHINE
    written = read(ROLES / "common/vars/main.yml")["doorbuster_environment"]
    assert written.keys() == known


def test_secrets_go_where_containers_get_them() -> None:
    groups = read(ROLES / "common/vars/main.yml")["doorbuster_secrets_of_groups"]
    services = read(REPOSITORY / "docker-compose.yml")["services"]
    secret = {name for names in groups.values() for name in names}
    assert secret == compose_settings.SECRETS
    for part, containers in {
        "shop": ["shop"],
        "ads": ["ads"],
        "gateway": ["gateway"],
        "lab": ["lab", "lab-worker", "lab-prepare"],
    }.items():
        given = {
            name for each in containers for name in services[each]["environment"] if name in secret
        }
        assert set(groups[part]) == given, part


def test_postgres_is_configured_as_on_one_machine() -> None:
    chosen = read(ROLES / "postgres/defaults/main.yml")["postgres_configuration"]
    wanted = {n: t for n, t in postgres.CONFIGURATION.items() if n not in OF_NATIVE_POSTGRES}
    assert chosen == wanted


def test_redis_is_configured_as_on_one_machine() -> None:
    chosen = read(ROLES / "redis/defaults/main.yml")
    assert chosen["redis_configuration"] == redis_server.CONFIGURATION
    assert chosen["broker_configuration"] == redis_server.BROKER_CONFIGURATION


@pytest.mark.parametrize("inventory", INVENTORIES, ids=lambda path: path.name)
def test_an_inventory_places_every_part(inventory: Path) -> None:
    groups = read(inventory / "hosts.yml")
    hosts = groups["host"]["hosts"]
    assert all("doorbuster_address" in variables for variables in hosts.values())
    for part in ("postgres", "redis", "shop", "ads", "gateway", "lab"):
        assert len(groups[part]["hosts"]) == 1, part
    limited = set(read(ROLES / "common/vars/main.yml")["doorbuster_parts"])
    assert groups.keys() - {"host", "monitoring"} <= limited
    for part in groups:
        assert groups[part]["hosts"].keys() <= hosts.keys(), part
    addresses = [variables["doorbuster_address"] for variables in hosts.values()]
    assert len(set(addresses)) == len(addresses)


@pytest.mark.parametrize("inventory", INVENTORIES, ids=lambda path: path.name)
def test_an_inventory_sets_what_there_is(inventory: Path) -> None:
    known = read(ROLES / "common/defaults/main.yml").keys()
    for role in ROLES.glob("*/defaults/main.yml"):
        known |= read(role).keys()
    assert read(inventory / "group_vars/all.yml").keys() <= known


def test_settable_variables_have_a_type() -> None:
    """The preflight checks them; paths, versions and secrets are text of any kind."""
    specs = read(ROLES / "common/meta/argument_specs.yml")["argument_specs"]["preflight"]
    table = read(ROLES / "common/defaults/main.yml").keys()
    assert specs["options"].keys() - {"doorbuster_address"} <= table
    untyped = table - specs["options"].keys()
    kept = (
        "version",
        "code",
        "state",
        "results",
        "user",
        "secret",
        "secrets",
        "password",
        "token",
        "key",
        "collected",
    )
    assert not [n for n in untyped if not n.endswith(kept) and "verify" not in n]


def test_every_port_is_a_port() -> None:
    table = read(ROLES / "common/defaults/main.yml").keys()
    named = read(ROLES / "common/vars/main.yml")["doorbuster_port_names"]
    assert set(named) == {name for name in table if name.endswith("_port")}


def test_every_unit_is_listed() -> None:
    """Units of doorbuster that are not listed are removed."""
    listed = {
        each["unit"] for each in read(ROLES / "common/vars/main.yml")["doorbuster_units_of_groups"]
    }
    written = set()
    for path in ROLES.glob("*/tasks/*.yml"):
        for task in yaml.safe_load(path.read_text(encoding="utf-8")):
            if unit := task.get("vars", {}).get("doorbuster_unit"):
                written.add(f"doorbuster-{unit['name']}.service")
    # The load generators have numbers: test_rendered.py.
    assert written - {"doorbuster-loadgen-{{ loadgen_number }}.service"} == {
        unit for unit in listed if unit.startswith("doorbuster-")
    }


def test_the_cluster_of_postgres_is_checked() -> None:
    """Debian's `postgresql.service` is active even while no cluster runs."""
    units = read(ROLES / "common/vars/main.yml")["doorbuster_units_of_groups"]
    (checked,) = (each["unit"] for each in units if each["group"] == "postgres")
    tasks = yaml.safe_load((ROLES / "postgres/tasks/cluster.yml").read_text(encoding="utf-8"))
    service = "ansible.builtin.systemd_service"
    (started,) = (task[service]["name"] for task in tasks if service in task)
    assert checked == started.replace("{{ postgres_version }}", "*")


def test_the_collection_has_the_version_of_doorbuster() -> None:
    """`galaxy.yml` repeats the version, because Ansible reads nothing else."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert read(COLLECTION / "galaxy.yml")["version"] == project["version"]


def test_roles_have_one_shape() -> None:
    """Every role has tasks, defaults, and the specification of its arguments."""
    for role in sorted(ROLES.iterdir()):
        files = {str(path.relative_to(role)) for path in role.rglob("*.yml")}
        wanted = {"defaults/main.yml", "tasks/main.yml", "meta/main.yml"}
        if role.name != "common":
            wanted.add("meta/argument_specs.yml")
        assert wanted <= files, role.name
