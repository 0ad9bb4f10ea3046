"""One Debian 13 host, fresh from Debian: Python 3.13, PostgreSQL 17, Redis 8, systemd 257."""

import pytest

from tests.ansible.machines import Machines

INVENTORY = "single-host"
NAMES = ["here"]
SUITE = "trixie"
FRESH = True

pytestmark = pytest.mark.timeout(7200)


def test_check_mode_says_what_it_would_do(lab: Machines) -> None:
    """Where nothing is installed yet."""
    played = lab.play("site.yml", "--check")
    assert played.status == 0, played.output[-5000:]
    assert played.changed > 0
    lab.ssh("here", "test ! -e /etc/doorbuster && test ! -e /opt/doorbuster")


def test_every_role_converges(lab: Machines) -> None:
    assert "13" in lab.ssh("here", ". /etc/os-release; echo $VERSION_ID")
    played = lab.play("site.yml")
    assert played.status == 0, played.output[-5000:]


def test_a_second_run_changes_nothing(lab: Machines) -> None:
    played = lab.play("site.yml")
    assert played.status == 0, played.output[-5000:]
    assert played.changed == 0, played.output


def test_it_does_what_it_is_for(lab: Machines) -> None:
    played = lab.play("verify.yml")
    assert played.status == 0, played.output[-5000:]
