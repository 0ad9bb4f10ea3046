"""`doorbuster platform` and `profile-connections`: what is refused, what the table says."""

import pytest
from click.testing import CliRunner

from doorbuster.commands import main
from lab.cli.platform import Figures, row

COSTS = "--cto 0.1 --ctn 0.3"


@pytest.fixture
def nobody(tmp_path, monkeypatch):
    """No appliance, nothing measured."""
    monkeypatch.setenv("DOORBUSTER_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("DOORBUSTER_GATEWAY_ADMIN_PORT", "1")


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ("platform --applications 0", 2, ["--applications", "1<=x<=16"]),
        (f"platform {COSTS} --priorities 2", 2, ["priorities", "1 given for 2 applications"]),
        (f"platform {COSTS} --priorities 2,x", 2, ["--priorities", "e.g. 2,1"]),
        (f"platform {COSTS} --cpus 9000-9999", 2, ["--cpus", "no CPU 9000-9999", "allowed:"]),
        ("platform --cto nan --ctn 1", 2, ["--cto", "'nan' is not a finite number"]),
        ("platform --cto x --ctn 1", 2, ["'x' is not a number; allowed: a number above 0"]),
        ("platform --key rsa-1024", 2, ["key rsa-1024: too short", "rsa-N with N from 2048"]),
        ("profile-connections --key dsa", 2, ["key dsa: unknown kind of key", "ec-p256"]),
        ("platform --applications 16 --cpus 0", 2, ["applications: 16 on 1 processors", "need 8"]),
        (f"platform {COSTS} --port 65535", 2, ["port: 65535", "allowed: 1 to 65534"]),
        ("platform --cto 0.1", 2, ["--cto and --ctn: give both"]),
        ("platform --provisioning fair", 2, ["'ecm', 'static', 'linux'"]),
        ("platform", 1, ["have not been measured", "doorbuster profile-connections --key"]),
        (f"platform {COSTS}", 1, ["does not answer", "make up"]),
        ("platform --admission none", 1, ["does not answer", "make up"]),
        ("profile-connections", 1, ["does not answer", "make up"]),
        ("profile-connections --sessions 1", 2, ["--sessions", "2<=x"]),
        ("profile-connections --sessions x", 2, ["allowed: a whole number from 2 to 10,000"]),
        ("profile-connections --interactions-mean x", 2,
         ["allowed: a number from 1 to less than 100"]),
        ("profile-connections --interactions-mean 100", 2, ["--interactions-mean", "x<100"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_a_line(nobody, arguments, status, words):
    done = CliRunner().invoke(main, arguments.split())
    assert "Traceback" not in done.output
    assert done.exit_code == status
    assert done.stderr.startswith("Error: ")
    for word in words:
        assert word in done.stderr


def figures(at_s, cpu_s, *, new, resumed, refused, **admission):
    counts = {"new": new, "resumed": resumed, "refused": refused}
    return Figures(at_s, counts | {"admission": {"snapshot": admission}}, cpu_s)


def test_a_line_of_the_table():
    then = figures(10.0, 5.0, new=10, resumed=100, refused=0)
    now = figures(
        12.0, 8.0, new=30, resumed=140, refused=5, requested=2, processors=1.5
    )  # fmt: skip
    assert row("application-1", 2.0, then, now) == [
        "application-1", "2", "2", "1.5", "1.50", "10.0", "20.0", "2.5", "30", "140", "5",
    ]  # fmt: skip


def test_what_nobody_knows_yet_is_a_dash():
    quiet = figures(1.0, 0.0, new=0, resumed=0, refused=0, requested=None)
    assert row("a", 1.0, quiet, quiet)[2:4] == ["–", "–"]
