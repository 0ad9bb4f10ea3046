"""Client, server and database on their own addresses: converged, and experiments end to end.

Customers come from two of them, cells of simulated grids go to all three.
"""

import pytest

from tests.ansible.machines import Machines

INVENTORY = "three-hosts"
NAMES = ["client", "server", "database"]
GROUPS = {"loadgen": ["client", "database"], "grid": NAMES}

pytestmark = pytest.mark.timeout(7200)


def used_s(lab: Machines, part: str, names: list[str]) -> dict[str, float]:
    """CPU seconds that a part has used on each host."""
    return {name: lab.limits(name, part)[part]["used_s"] for name in names}


def test_every_role_converges(lab: Machines) -> None:
    played = lab.play("site.yml")
    assert played.status == 0, played.output[-5000:]


def test_a_second_run_changes_nothing(lab: Machines) -> None:
    played = lab.play("site.yml")
    assert played.status == 0, played.output[-5000:]
    assert played.changed == 0, played.output


def test_a_comparison_drives_the_customers_of_both_hosts(lab: Machines) -> None:
    before = used_s(lab, "loadgen", GROUPS["loadgen"])
    played = lab.play("verify.yml")
    assert played.status == 0, played.output[-5000:]
    after = used_s(lab, "loadgen", GROUPS["loadgen"])
    for name in GROUPS["loadgen"]:
        assert after[name] - before[name] > 2.0, (before, after)


def test_results_are_collected(lab: Machines) -> None:
    played = lab.play("collect.yml")
    assert played.status == 0, played.output[-5000:]
    assert list((lab.folder / "collected" / "client").glob("*/plan.json"))


def test_every_host_takes_cells_of_a_simulated_grid(lab: Machines) -> None:
    before = used_s(lab, "grid", NAMES)
    given = "--policies sq,8q-lifo-pri --rho 1.4 --sessions 8000 --repetitions 6 --fresh"
    said = lab.ssh("client", f"doorbuster simulate {given} --celery")
    after = used_s(lab, "grid", NAMES)
    assert "8Q-LIFO-Pri" in said
    assert all(after[name] - before[name] > 0.5 for name in NAMES), (before, after)


def test_the_database_is_closed_to_strangers(lab: Machines) -> None:
    assert lab.reaches("server", 8080)
    assert not lab.reaches("database", 5432)
    assert not lab.reaches("database", 6379)
    assert not lab.reaches("server", 8081)


def test_a_part_that_is_taken_out_ends(lab: Machines) -> None:
    lab.groups = {"loadgen": ["client"], "grid": ["client", "server"]}
    units = "doorbuster-loadgen-1.service doorbuster-grid-worker.service"
    lab.ssh("database", f"systemctl is-active {units}")
    played = lab.play("site.yml")
    assert played.status == 0, played.output[-5000:]
    # What is left of doorbuster there is the firewall.
    left = lab.ssh("database", "ls /etc/systemd/system | grep '^doorbuster-.*service$'")
    assert left == "doorbuster-firewall.service"
    assert "inactive\ninactive" in lab.ssh("database", f"systemctl is-active {units} || true")
    lab.ssh("server", "systemctl is-active doorbuster-grid-worker.service")
    again = lab.play("site.yml")
    assert again.changed == 0, again.output
