"""A wrong inventory stops before any change, with an error that names host and variable."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.ansible.playing import played, with_tools

pytestmark = [pytest.mark.slow, with_tools]

PARTS = ("postgres", "redis", "shop", "ads", "gateway", "lab")


def inventory() -> dict[str, Any]:
    hosts = {
        "one": {"doorbuster_address": "10.0.0.1", "ansible_connection": "local"},
        "two": {"doorbuster_address": "10.0.0.2", "ansible_connection": "local"},
    }
    return {"host": {"hosts": hosts}} | {part: {"hosts": {"one": {}}} for part in PARTS}


def preflight(
    folder: Path, groups: dict[str, Any], *arguments: str, playbook: str = "site.yml"
) -> tuple[int, str]:
    """Return status and output, in one line."""
    path = folder / "hosts.yml"
    path.write_text(yaml.safe_dump(groups))
    status, said = played(folder, "--inventory", path, playbook, *arguments)
    return status, " ".join(said.split())


def test_a_missing_group(tmp_path: Path) -> None:
    groups = inventory()
    del groups["redis"]
    status, said = preflight(tmp_path, groups)
    assert status != 0
    assert "group redis has 0 hosts (none); allowed: exactly one" in said
    assert "changed=1" not in said


def test_a_part_on_two_hosts(tmp_path: Path) -> None:
    groups = inventory()
    groups["shop"]["hosts"]["two"] = {}
    _, said = preflight(tmp_path, groups)
    assert "group shop has 2 hosts (one, two); allowed: exactly one" in said


def test_a_host_without_an_address(tmp_path: Path) -> None:
    groups = inventory()
    del groups["host"]["hosts"]["two"]["doorbuster_address"]
    _, said = preflight(tmp_path, groups)
    assert "host two: doorbuster_address is missing" in said


def test_an_address_that_the_host_does_not_have(tmp_path: Path) -> None:
    groups = inventory()
    groups["host"]["hosts"]["two"]["doorbuster_address"] = "127.0.0.1"
    _, said = preflight(tmp_path, groups)
    assert "host two: doorbuster_address is 127.0.0.1, which other hosts cannot reach" in said


def test_a_host_that_does_not_answer(tmp_path: Path) -> None:
    groups = inventory()
    groups["host"]["hosts"]["two"] |= {
        "ansible_connection": "ssh",
        "ansible_host": "192.0.2.1",  # of documentation: nobody has it
        "ansible_ssh_common_args": "-o ConnectTimeout=2",
    }
    status, said = preflight(tmp_path, groups)
    assert status != 0
    assert "host two: cannot be reached at ansible_host=192.0.2.1" in said
    assert "changed=1" not in said


@pytest.mark.parametrize("playbook", ["site.yml", "reset.yml"])
def test_a_limit_that_leaves_out_localhost(tmp_path: Path, playbook: str) -> None:
    """The plays on localhost would be left out, and faults would only show after changes.

    The test uses --check: a reset that is not refused would empty this very machine.
    """
    given = ("--check", "--limit", "!two", "--extra-vars", f"doorbuster_state={tmp_path}/state")
    status, said = preflight(tmp_path, inventory(), *given, playbook=playbook)
    assert status != 0
    assert "--limit=!two excludes localhost" in said
    assert """names it, e.g. ARGS='--limit "all:localhost:!student-07"'""" in said
    assert "Everything is stopped" not in said
    assert "changed=1" not in said


def test_the_limit_that_is_documented(tmp_path: Path) -> None:
    """It leaves out the one host, which would otherwise count as unreachable, and goes on."""
    groups = inventory()
    groups["host"]["hosts"]["two"] |= {"ansible_connection": "ssh", "ansible_host": "192.0.2.1"}
    groups["host"]["hosts"]["one"]["doorbuster_shop_workers"] = 0
    status, said = preflight(tmp_path, groups, "--limit", "all:localhost:!two")
    assert status != 0
    assert "host one: doorbuster_shop_workers is 0" in said
    assert "leaves out" not in said
    assert "host two" not in said


def refused(folder: Path, wrong: dict[str, dict[str, Any]]) -> str:
    """Return the errors for hosts that each have one wrong value, all found in the same task."""
    groups = inventory()
    hosts = groups["host"]["hosts"] = {
        name: {"doorbuster_address": f"10.0.0.{number}", "ansible_connection": "local", **variables}
        for number, (name, variables) in enumerate(wrong.items(), 1)
    }
    for part in PARTS:
        groups[part] = {"hosts": {next(iter(hosts)): {}}}
    status, said = preflight(folder, groups)
    assert status != 0
    assert "changed=1" not in said
    return said


@pytest.mark.long
def test_values_of_another_kind(tmp_path: Path) -> None:
    wrong = {
        "a": {"doorbuster_shop_workers": "many"},
        "b": {"doorbuster_redis_port": "redis"},
        "c": {"doorbuster_lab_accounts": "perhaps"},
        "d": {"doorbuster_shop_cpus": ["first"]},
        "e": {"doorbuster_needs_cpus": "two"},
    }
    said = refused(tmp_path, wrong)
    for host, variables in wrong.items():
        (variable,) = variables
        assert f"fatal: [{host}]" in said
        assert f"'{variable}'" in said or f"elements of {variable}" in said.replace("'", "")


@pytest.mark.long
def test_limits_that_are_none(tmp_path: Path) -> None:
    wrong = {
        "a": {"doorbuster_limits": {"shop": {"quota": "half"}}},
        "b": {"doorbuster_limits": {"redis": {"memory": "much"}}},
        "c": {"doorbuster_limits": {"ads": {"cores": 4}}},
    }
    said = refused(tmp_path, wrong)
    assert "host a: doorbuster_limits.shop is {'quota': 'half'}; allowed:" in said
    assert "host b: doorbuster_limits.redis is {'memory': 'much'}; allowed:" in said
    assert "host c: doorbuster_limits.ads is {'cores': 4}; allowed:" in said
    said = refused(tmp_path, {"a": {"doorbuster_limits": {"shopp": {"quota": 100}}}})
    assert "host a: doorbuster_limits names shopp; allowed: postgres, redis, shop" in said


@pytest.mark.long
def test_numbers_out_of_their_range(tmp_path: Path) -> None:
    wrong = {
        "a": {"doorbuster_shop_workers": 0},
        "b": {"doorbuster_catalogue_books": 10},
        "c": {"doorbuster_clock_ratio": 0},
    }
    said = refused(tmp_path, wrong)
    assert "host a: doorbuster_shop_workers is 0; allowed: 1 to 100" in said
    assert "host b: doorbuster_catalogue_books is 10; allowed: 1000 to 500000" in said
    assert "host c: doorbuster_clock_ratio is 0; allowed: 0.001 to 1000" in said


@pytest.mark.long
def test_ports_that_are_none_or_given_twice(tmp_path: Path) -> None:
    wrong = {"a": {"doorbuster_lab_port": 8080}, "b": {"doorbuster_lab_port": 70000}}
    said = refused(tmp_path, wrong)
    assert "host a: doorbuster_…_port are" in said
    assert "host b: doorbuster_…_port are" in said
    assert "allowed: different ports from 1 to 65535" in said


@pytest.mark.long
@pytest.mark.parametrize("given", ["203.0.113.7", "::"])
def test_a_public_address_where_the_lab_does_not_ask(tmp_path: Path, given: str) -> None:
    """Customers reach these hosts; other hosts may have the gateway's address by the inventory."""
    groups = inventory()
    for host in groups["host"]["hosts"].values():
        host["doorbuster_public_address"] = given
    status, said = preflight(tmp_path, groups)
    assert status != 0
    assert f"host one: doorbuster_public_address is {given}, at which the lab" in said
    assert "allowed: 0.0.0.0 and 10.0.0.1, its doorbuster_address" in said
    assert "host two: doorbuster_public_address" not in said
    assert "changed=1" not in said


@pytest.mark.long
@pytest.mark.parametrize("given", ["0.0.0.0", "10.0.0.1"])
def test_public_addresses_that_are_good(tmp_path: Path, given: str) -> None:
    """The next step of the preflight fails instead."""
    groups = inventory()
    groups["host"]["hosts"]["one"] |= {
        "doorbuster_public_address": given,
        "doorbuster_results": "/var/lib/doorbuster",
    }
    _, said = preflight(tmp_path, groups)
    assert "host one: doorbuster_results is /var/lib/doorbuster" in said
    assert "doorbuster_public_address is" not in said


@pytest.mark.long
def test_results_that_a_reset_would_take(tmp_path: Path) -> None:
    """The folder may be below the state, the state itself, or above it."""
    wrong = {
        "a": {"doorbuster_results": "/var/lib/doorbuster/kept/results"},
        "b": {"doorbuster_results": "/var/lib/doorbuster/"},
        "c": {"doorbuster_results": "/srv", "doorbuster_state": "/srv/lab/state"},
    }
    said = refused(tmp_path, wrong)
    for host, variables in wrong.items():
        found = variables["doorbuster_results"]
        assert f"host {host}: doorbuster_results is {found}, which a reset would empty" in said
    good = {
        "a": {"doorbuster_results": "/var/lib/doorbuster/mine/"},
        "b": {"doorbuster_results": "/srv/results", "doorbuster_state": "/srv/state"},
        "c": {"doorbuster_results": "/var/lib/doorbuster/kept/results"},
    }
    said = refused(tmp_path, good)
    assert "host c: doorbuster_results is" in said
    assert "host a: doorbuster_results" not in said
    assert "host b: doorbuster_results" not in said


@pytest.mark.long
def test_an_account_that_does_not_become_root(tmp_path: Path) -> None:
    """The account's sudo fails. It is another user, because root needs no sudo."""
    without = {"ansible_become_user": "nobody", "ansible_become_exe": "/bin/false"}
    said = refused(tmp_path, {"a": without, "b": {**without, "ansible_user": "anna"}})
    assert "host a: the login user cannot become root there (" in said
    assert "host b: anna cannot become root there (" in said
    assert "or ARGS=-K, which prompts for the password" in said


@pytest.mark.long
def test_a_commit_that_there_is_not(tmp_path: Path) -> None:
    groups = inventory()
    groups["all"] = {"vars": {"doorbuster_version": "no-such-tag"}}
    status, said = preflight(tmp_path, groups)
    assert status != 0
    assert "doorbuster_version is no-such-tag; allowed: a commit of this repository" in said
