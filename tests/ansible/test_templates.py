"""Slices and units for hosts with unified control groups and for others."""

import re
import shlex
import subprocess
from typing import Any

import jinja2
import pytest
import yaml

from tests.ansible.playing import ROLES


def rendered(name: str, role: str = "common", **variables: Any) -> dict[str, str]:
    """Return the directives of a unit, with stand-ins for Ansible's filters."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ROLES / role / "templates"),
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["bool"] = bool
    environment.filters["to_json"] = environment.filters["hash"] = lambda given, *_: str(given)
    lines = environment.get_template(name).render(**variables).splitlines()
    found: dict[str, str] = {}
    for line in lines:
        if "=" in line and not line.startswith("#"):
            directive, value = line.split("=", 1)
            found[directive] = f"{found[directive]} {value}" if directive in found else value
    return found


def slice_of(**variables: Any) -> dict[str, str]:
    given = {
        "doorbuster_part": "shop",
        "doorbuster_part_cpus": [1],
        "doorbuster_limits": {"shop": {"quota": 100, "memory": "256M"}},
        "doorbuster_clock_ratio": 1.0,
        "doorbuster_has_cpusets": True,
    }
    return rendered("part.slice.j2", **{**given, **variables})


def test_unified_control_groups_bind_the_slice() -> None:
    made = slice_of(doorbuster_part_cpus=[0, 2])
    assert made["AllowedCPUs"] == "0 2"
    assert (made["CPUQuota"], made["MemoryMax"]) == ("100%", "256M")


def test_others_do_not() -> None:
    made = slice_of(doorbuster_has_cpusets=False)
    assert "AllowedCPUs" not in made
    assert (made["CPUQuota"], made["MemoryMax"]) == ("100%", "256M")


def test_the_originals_speed_scales_the_quota() -> None:
    assert slice_of(doorbuster_clock_ratio=1600 / 3200)["CPUQuota"] == "50%"
    assert slice_of(doorbuster_clock_ratio=200 / 3200)["CPUQuota"] == "6%"


def test_a_part_without_limits_is_counted_only() -> None:
    made = slice_of(doorbuster_limits={})
    assert made["CPUAccounting"] == made["MemoryAccounting"] == "yes"
    assert not {"CPUQuota", "MemoryMax"} & made.keys()


def unit_of(**more: Any) -> dict[str, str]:
    unit = {
        "name": "shop",
        "title": "Shop",
        "part": "shop",
        "command": "serve",
        "cpus": [0, 3],
        "stop_wait_s": 20,
    } | more
    return rendered(
        "part.service.j2",
        doorbuster_unit=unit,
        doorbuster_code="/code",
        doorbuster_state="/state",
        doorbuster_results="/results",
        doorbuster_user="doorbuster",
        doorbuster_settings_here={},
        hostvars={"localhost": {"doorbuster_commit": {"stdout": "0"}}},
    )


def test_a_unit_is_bound_on_every_host() -> None:
    made = unit_of()
    assert made["CPUAffinity"] == "0 3"
    assert made["Slice"] == "doorbuster-shop.slice"
    assert (made["NoNewPrivileges"], made["ProtectSystem"]) == ("yes", "strict")
    assert (made["PrivateTmp"], made["ReadWritePaths"]) == ("yes", "/state /results")


def unit_of_package(role: str, name: str, address: str = "127.0.0.1") -> dict[str, str]:
    """Return the additional directives for a unit of the distribution."""
    return rendered(name, role, doorbuster_address=address, doorbuster_other_cpus=[0])


@pytest.mark.parametrize(
    ("role", "name"),
    [
        ("postgres", "slice.conf.j2"),
        ("redis", "slice.conf.j2"),
        ("monitoring", "online.conf.j2"),
    ],
)
def test_who_listens_on_the_labs_address_waits_for_it(role: str, name: str) -> None:
    """The unit starts after the network, and tries again until the address is there."""
    made = unit_of_package(role, name)
    assert made["Wants"] == made["After"] == "network-online.target"
    assert made["StartLimitIntervalSec"] == "0"
    assert made["RestartSec"] == "2"
    assert made["Restart"] in ("on-failure", "always")


@pytest.mark.parametrize(("address", "starts"), [("127.0.0.1", True), ("192.0.2.1", False)])
def test_postgres_does_not_start_on_loopback_alone(address: str, starts: bool) -> None:
    """It would not fail without its address (here one of documentation, which nobody has)."""
    before = unit_of_package("postgres", "slice.conf.j2", address)["ExecStartPre"]
    done = subprocess.run(shlex.split(before), capture_output=True, check=False, timeout=60)
    assert (done.returncode == 0) is starts, done.stderr


def test_no_unit_tells_a_secret() -> None:
    """Every local user reads a unit's Environment= by `systemctl show`: secrets are in files."""
    for template in sorted(ROLES.glob("*/templates/*")):
        text = template.read_text(encoding="utf-8")
        for line in text.splitlines():
            if line.startswith(("Environment=", "ExecStart")):
                assert not re.search("password|secret|token|key", line), f"{template.name}: {line}"
    secrets = ROLES / "monitoring/templates/grafana-secrets.j2"
    assert "doorbuster_grafana_admin_password" in secrets.read_text(encoding="utf-8")
    tasks = yaml.safe_load(
        (ROLES / "monitoring/tasks/grafana_package.yml").read_text(encoding="utf-8")
    )
    [written] = [
        task["ansible.builtin.template"] | {"no_log": task.get("no_log")}
        for task in tasks
        if task.get("ansible.builtin.template", {}).get("src") == secrets.name
    ]
    assert (written["mode"], written["owner"], written["no_log"]) == ("0600", "root", True)
    unit = rendered(
        "grafana.conf.j2",
        "monitoring",
        doorbuster_address="127.0.0.1",
        doorbuster_grafana_port=1,
        doorbuster_prometheus_port=2,
        doorbuster_postgres_port=3,
        doorbuster_postgres_db="doorbuster",
        doorbuster_reached={"postgres": "127.0.0.1"},
    )
    assert unit["EnvironmentFile"] == written["dest"]
