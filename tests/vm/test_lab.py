"""An inventory on real machines with their own kernel: provisioned, rebooted, loaded, reset."""

import re
import socket
from itertools import pairwise
from pathlib import Path

import pytest

from common.hosts import LOOPBACK
from common.waiting import retry
from tests.vm.conftest import groups
from tests.vm.guests import Guests

LOADED_S = 20
SAMPLE_EVERY_S = 5
# The kernel hands out quota in periods of 100 ms, to each CPU in slices of 5 ms.
TOLERANCE_S = 0.25
ANSWERED_WITHIN_S = 60.0
LISTENS_WITHIN_S = 120.0

pytestmark = pytest.mark.timeout(8 * 3600)


def answer(lab: Guests, name: str, port: int, asked: bytes = b"") -> bytes:
    """Return the first bytes that a port sends to this machine; empty if it sends none. QEMU
    accepts every connection, so a connection alone shows nothing."""
    with socket.create_connection((LOOPBACK, lab.port(name, port)), ANSWERED_WITHIN_S) as there:
        there.sendall(asked)
        try:
            return there.recv(64)
        except (TimeoutError, ConnectionResetError):
            return b""


def page(lab: Guests, name: str, port: int) -> bytes:
    return answer(lab, name, port, b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")


def listen(lab: Guests, name: str) -> None:
    """Start a server that the inventory does not name on port 9999 of the guest."""
    lab.ssh(name, "systemctl stop outsider 2>/dev/null; true")
    lab.ssh(name, "systemd-run -q --unit=outsider python3 -m http.server 9999")

    def listens() -> None:
        lab.ssh(name, "ss -tln | grep :9999")

    retry(listens, AssertionError, LISTENS_WITHIN_S, every_s=2)


def assert_ways_in(lab: Guests) -> None:
    """Both ports of SSH answer, and the gateway; a port that no part has does not."""
    for name in lab.names:
        for port in (22, 2222):
            assert answer(lab, name, port).startswith(b"SSH-"), (name, port)
        listen(lab, name)
        assert not page(lab, name, 9999), name
    for name in set(groups(lab.inventory)["gateway"]) & set(lab.names):
        assert page(lab, name, 8080).startswith(b"HTTP/1."), name


def test_the_machines_are_those_of_lab_vms(lab: Guests) -> None:
    """An account with sudo and a key, unified control groups, and cloud-init without an error."""
    for name in lab.names:
        assert lab.ssh(name, "id --user; hostname; stat -f -c %T /sys/fs/cgroup").split() == [
            "0",
            name,
            "cgroup2fs",
        ]
        assert not lab.ssh(name, "systemctl --failed --no-legend"), name


def test_sshd_listens_on_a_second_port(lab: Guests) -> None:
    """No firewall is there yet, so every port answers."""
    for name in lab.names:
        lab.ssh(name, "printf 'Port 22\\nPort 2222\\n' >/etc/ssh/sshd_config.d/ports.conf")
        lab.ssh(name, "systemctl restart ssh")
        listen(lab, name)
        assert answer(lab, name, 2222).startswith(b"SSH-")
        assert page(lab, name, 9999).startswith(b"HTTP/1.")


def test_the_code_and_its_environment_arrive(lab: Guests) -> None:
    """`make lab-provision ARGS="--tags host"`: account, code, libraries from PyPI, firewall."""
    played = lab.play("site.yml", "--tags", "host")
    assert played.status == 0, played.output[-5000:]
    if lab.accelerator == "tcg":
        for name in groups(lab.inventory)["lab"]:
            lab.give_documentation(name)


def test_every_role_converges(lab: Guests) -> None:
    """`make lab-provision` installs the parts."""
    played = lab.play("site.yml")
    assert played.status == 0, played.output[-5000:]
    assert played.changed > 0


def test_a_second_run_changes_nothing(lab: Guests) -> None:
    """All tasks of the second run say ok."""
    played = lab.play("site.yml")
    assert played.status == 0, played.output[-5000:]
    assert played.changed == 0, played.output


def test_it_does_what_it_is_for(lab: Guests) -> None:
    """`make lab-verify`: services, limits, a page, a comparison whose counts agree."""
    played = lab.play("verify.yml")
    assert played.status == 0, played.output[-5000:]


def test_the_firewall_lets_in_both_ports_of_ssh(lab: Guests) -> None:
    """The kernel's nftables drop what the inventory does not name."""
    assert_ways_in(lab)
    for name in lab.names:
        rules = lab.ssh(name, "nft list table inet doorbuster")
        assert "policy drop" in rules
        # The third port is the one by which the inventory reaches the machine.
        assert re.search(r"tcp dport \{ 22, 2222(, \d+)? \} accept", rules), rules


def test_unified_control_groups_limit_a_part_under_load(
    lab: Guests, limited: tuple[str, str]
) -> None:
    """More processes than the part has CPUs get only these CPUs and the part's quota, as the
    kernel counts; `make lab-verify` compares the same limits with the inventory."""
    host, part = limited
    cpus = lab.limits(host, part)[part]["cpus"]
    unit = f"systemd-run -q --slice=doorbuster-{part}.slice"
    hogs = [f"hog-{number}" for number in range(3 * len(cpus))]
    for hog in hogs:
        lab.ssh(host, f"{unit} --unit={hog} python3 -c 'while True: pass'")
    try:
        samples = lab.cpu_samples(host, part, LOADED_S, SAMPLE_EVERY_S)
        found = lab.limits(host, part)[part]
        group = f"/sys/fs/cgroup/doorbuster.slice/doorbuster-{part}.slice"
        allowed, quota = lab.ssh(host, f"cd {group}; cat cpuset.cpus.effective cpu.max").split("\n")
    finally:
        lab.ssh(host, f"systemctl stop {' '.join(hogs)}")
    print(f"{part}: {found}; cpuset.cpus.effective: {allowed}; cpu.max: {quota}")
    print(f"seconds and CPU seconds: {samples}")
    assert found["told"] == found["kept"]
    assert found["cpus"] == cpus
    assert set(allowed.replace("-", ",").split(",")) == {str(cpus[0]), str(cpus[-1])}
    percent = found["kept"]["quota"]
    assert quota == f"{1000 * percent:.0f} 100000"
    for (at, before), (then, used) in pairwise(samples):
        assert used - before <= percent / 100 * (then - at) + TOLERANCE_S, samples
    assert samples[-1][1] - samples[0][1] > 0.2 * (samples[-1][0] - samples[0][0])


def test_more_memory_than_a_part_has_ends_only_the_process_that_takes_it(
    lab: Guests, limited: tuple[str, str]
) -> None:
    """The kernel enforces MemoryMax in the slice: the unit that takes more ends, and every part
    keeps its process."""
    host, part = limited
    units = "'doorbuster-*.service' 'postgresql@*.service' 'redis-server*.service'"
    processes = f"systemctl show --property=Id,MainPID {units}"
    before = lab.ssh(host, processes)
    takes = f"python3 -c 'bytearray({lab.limits(host, part)[part]['kept']['memory']})'"
    alone = f"--slice=doorbuster-{part}.slice --unit=glutton --property=OOMScoreAdjust=1000"
    lab.ssh(host, f"systemd-run -q --wait --collect {alone} {takes} || true")
    said = lab.ssh(host, "journalctl --unit=glutton --output=cat")
    assert "oom-kill" in said, said
    assert lab.ssh(host, processes) == before


def test_a_reboot_brings_everything_back(lab: Guests) -> None:
    """After `systemctl reboot`, `make lab-verify` passes again, and the firewall is in force
    without Ansible."""
    for name in lab.names:
        lab.reboot(name)
    assert_ways_in(lab)
    for name in lab.names:
        assert not lab.ssh(name, "systemctl --failed --no-legend"), name
    played = lab.play("verify.yml")
    assert played.status == 0, played.output[-5000:]


def test_a_reset_keeps_the_results(lab: Guests) -> None:
    """`make lab-reset`: database and state are made anew."""
    (console,) = groups(lab.inventory)["lab"]
    lab.ssh(console, "echo kept > /var/lib/doorbuster/results/before-the-reset.txt")
    before = lab.ssh(console, "ls /var/lib/doorbuster/results")
    played = lab.play("reset.yml")
    assert played.status == 0, played.output[-5000:]
    assert lab.ssh(console, "ls /var/lib/doorbuster/results") == before


def test_results_are_collected(lab: Guests) -> None:
    """`make lab-collect`: the files of the lab's host come to this machine."""
    (console,) = groups(lab.inventory)["lab"]
    played = lab.play("collect.yml")
    assert played.status == 0, played.output[-5000:]
    here = Path(lab.folder / "collected" / console)
    there = lab.ssh(console, "cd /var/lib/doorbuster/results && find . -type f | sort")
    files = sorted(f"./{path.relative_to(here)}" for path in here.rglob("*") if path.is_file())
    assert set(there.splitlines()) <= set(files)
