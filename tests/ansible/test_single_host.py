"""One Debian 12 host: converged, verified, left alone by a second run, reset."""

import pytest

from tests.ansible.machines import Machines

INVENTORY = "single-host"
NAMES = ["here"]
VARIABLES: dict[str, object] = {"doorbuster_needs_memory_mb": 2000}

pytestmark = pytest.mark.timeout(7200)


def test_a_wrong_inventory_stops_before_any_change(lab: Machines) -> None:
    played = lab.play("site.yml", doorbuster_needs_cpus=64)
    assert played.status != 0
    assert "host here: has" in played.output
    assert "doorbuster_needs_cpus is 64" in " ".join(played.output.split())
    assert played.changed == 0
    lab.ssh("here", "test ! -e /etc/doorbuster")


def test_every_role_converges(lab: Machines) -> None:
    played = lab.play("site.yml")
    assert played.status == 0, played.output[-5000:]
    assert played.changed > 0


def test_a_second_run_changes_nothing(lab: Machines) -> None:
    played = lab.play("site.yml")
    assert played.status == 0, played.output[-5000:]
    assert played.changed == 0, played.output


def test_check_mode_changes_nothing(lab: Machines) -> None:
    played = lab.play("site.yml", "--check")
    assert played.status == 0, played.output[-5000:]
    assert played.changed == 0, played.output


def test_it_does_what_it_is_for(lab: Machines) -> None:
    played = lab.play("verify.yml")
    assert played.status == 0, played.output[-5000:]


def test_the_shop_has_its_hardware(lab: Machines) -> None:
    shown = lab.ssh("here", "systemctl show doorbuster-shop.slice")
    assert "CPUQuotaPerSecUSec=1s" in shown
    assert f"MemoryMax={1024**3}" in shown
    units = lab.ssh("here", "systemctl show doorbuster-shop.service -p Slice -p NoNewPrivileges")
    assert set(units.split()) == {"Slice=doorbuster-shop.slice", "NoNewPrivileges=yes"}


def test_only_gateway_and_ssh_are_reached_from_outside(lab: Machines) -> None:
    rules = lab.ssh("here", "nft list table inet doorbuster")
    assert "policy drop" in rules
    assert "8080" in rules
    assert "5432" not in rules
