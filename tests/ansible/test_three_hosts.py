"""Client, server and database on their own addresses: converged, and a comparison end to end."""

import pytest

from tests.ansible.machines import Machines

INVENTORY = "three-hosts"
NAMES = ["client", "server", "database"]
VARIABLES: dict[str, object] = {"doorbuster_needs_memory_mb": 2000}

pytestmark = pytest.mark.timeout(7200)


def test_every_role_converges(lab: Machines) -> None:
    played = lab.play("site.yml")
    assert played.status == 0, played.output[-5000:]


def test_a_second_run_changes_nothing(lab: Machines) -> None:
    played = lab.play("site.yml")
    assert played.status == 0, played.output[-5000:]
    assert played.changed == 0, played.output


def test_a_comparison_from_end_to_end(lab: Machines) -> None:
    played = lab.play("verify.yml")
    assert played.status == 0, played.output[-5000:]


def test_results_are_collected(lab: Machines) -> None:
    played = lab.play("collect.yml")
    assert played.status == 0, played.output[-5000:]
    assert list((lab.folder / "collected" / "client").glob("*/plan.json"))
