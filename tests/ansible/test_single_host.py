"""One host with a fresh Debian: refused while a value is wrong, converged, loaded, reset."""

import json
import subprocess
from itertools import pairwise

import pytest

from tests.ansible.machines import CLOCK_WITHOUT_RIGHTS, Machines

INVENTORY = "single-host"
NAMES = ["here"]
FRESH = True
# This container has a chrony of its own: see the test of clocks.
VARIABLES: dict[str, object] = {"doorbuster_clock_left_alone_because": ""}

LOADED_S = 60
SAMPLE_EVERY_S = 5
# The kernel hands out quota in periods of 100 ms, to each CPU in slices of 5 ms.
TOLERANCE_S = 0.25

pytestmark = pytest.mark.timeout(7200)


def refused(lab: Machines, **variables: object) -> str:
    """Return the error of the first play, which has changed nothing."""
    played = lab.play("site.yml", **variables)
    assert played.status != 0
    assert played.changed == 0
    lab.ssh("here", "test ! -e /etc/doorbuster")
    return " ".join(played.output.split())


def test_a_clock_that_is_not_kept_is_refused(lab: Machines) -> None:
    kept = lab.ssh("here", "timedatectl show --property=NTPSynchronized --value") == "yes"
    said = "" if kept else refused(lab)
    lab.ssh("here", CLOCK_WITHOUT_RIGHTS)
    if kept:
        pytest.skip("this machine's clock is kept, and so is its containers'")
    assert "host here: its clock is not synchronised" in said
    assert "doorbuster_clock_left_alone_because" in said


def test_too_few_cpus_stop_before_any_change(lab: Machines) -> None:
    said = refused(lab, doorbuster_needs_cpus=64)
    assert "host here: has" in said
    assert "doorbuster_needs_cpus is 64" in said


def test_a_release_that_is_not_supported_stops_before_any_change(lab: Machines) -> None:
    lab.ssh("here", "cp -L /etc/os-release /root/release; sed -i s/12/11/ /etc/os-release")
    lab.ssh("here", "echo 11.9 >/etc/debian_version")
    said = refused(lab)
    lab.ssh("here", "cat /root/release >/etc/os-release; echo 12.9 >/etc/debian_version")
    assert "host here: Debian 11 is not supported; allowed: Debian 12, Debian 13" in said


def test_other_things_that_a_host_has_not(lab: Machines) -> None:
    assert "host here: has" in refused(lab, doorbuster_needs_memory_mb=10**8)
    assert "doorbuster_needs_disk_mb is" in refused(lab, doorbuster_needs_disk_mb=10**9)
    said = refused(lab, doorbuster_shop_cpus=[63])
    assert "host here: doorbuster_shop_cpus names CPU 63; allowed: 0 to" in said
    said = refused(lab, doorbuster_address="10.255.255.254")
    assert "host here: doorbuster_address is 10.255.255.254, which it does not have" in said


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


def test_a_stopped_database_is_found(lab: Machines) -> None:
    """`postgresql.service` stays active without its cluster, so the cluster itself is checked."""
    lab.ssh("here", "systemctl stop 'postgresql@*-main.service'")
    played = lab.play("verify.yml")
    lab.ssh("here", "systemctl restart postgresql.service")
    assert played.status != 0
    assert "postgresql@*-main.service" in played.output
    lab.ssh("here", "systemctl is-active 'postgresql@*-main.service'")


def test_accounts_are_made_on_the_host(lab: Machines) -> None:
    made = lab.ssh("here", "doorbuster class students -", "name\nada\ngrace\n")
    assert [line.split(",")[0] for line in made.splitlines()] == ["ada", "grace"]


def test_live_runs_of_console_and_terminal_hold_one_lock(lab: Machines) -> None:
    """The workers of the console see the machine's temporary folder."""
    worker = "$(systemctl show doorbuster-lab-worker.service -p MainPID --value)"
    here, there = (
        "stat --format=%D:%i /tmp",
        f"nsenter --mount --target {worker} stat --format=%D:%i /tmp",
    )
    assert lab.ssh("here", here) == lab.ssh("here", there)
    lab.ssh("here", f"nsenter --mount --target {worker} test -w /tmp")


def test_the_shop_has_its_hardware(lab: Machines) -> None:
    found = lab.limits("here", "shop", "postgres", "gateway", "redis")
    gib = 1024**3
    assert found["shop"]["told"] == found["shop"]["kept"] == {"quota": 100, "memory": gib}
    assert found["postgres"]["kept"] == {"quota": None, "memory": 2 * gib}
    assert found["gateway"]["kept"] == {"quota": None, "memory": gib}
    assert found["redis"]["kept"] == {"quota": None, "memory": gib // 2}
    units = lab.ssh("here", "systemctl show doorbuster-shop.service -p Slice -p NoNewPrivileges")
    assert set(units.split()) == {"Slice=doorbuster-shop.slice", "NoNewPrivileges=yes"}


def test_a_shop_of_one_cpu_never_uses_more_in_a_loaded_minute(lab: Machines) -> None:
    """Pages use CPU only, and more customers come than the shop can serve."""
    for_s = LOADED_S + 30
    load = f"timeout --signal=INT {for_s} doorbuster capacity --page-profile cpu --time-scale 5"
    with subprocess.Popen(lab.ssh_command("here", load), stdout=subprocess.DEVNULL) as loading:
        samples = lab.cpu_samples("here", "shop", LOADED_S, SAMPLE_EVERY_S)
        still_loading = loading.poll() is None
    windows = [(then - at, used - before) for (at, before), (then, used) in pairwise(samples)]
    assert still_loading, "the load ended before the minute did"
    assert all(used <= passed + TOLERANCE_S for passed, used in windows), windows
    used_s, passed_s = samples[-1][1] - samples[0][1], samples[-1][0] - samples[0][0]
    print(f"the shop used {used_s:.2f} s of CPU in {passed_s:.2f} s")
    assert used_s <= passed_s + TOLERANCE_S
    assert used_s > 0.2 * passed_s, "that was no load"


def test_neither_does_code_that_leaves_its_cpu(lab: Machines) -> None:
    """The shop is one process with fixed CPUs; the slice also limits other code."""
    hog = "python3 -c 'while True: pass'"
    for number in range(4):
        lab.ssh("here", f"systemd-run -q --slice=doorbuster-shop.slice --unit=hog-{number} {hog}")
    try:
        samples = lab.cpu_samples("here", "shop", 10, 5)
    finally:
        lab.ssh("here", "systemctl stop 'hog-*'")
    for (at, before), (then, used) in pairwise(samples):
        assert used - before <= then - at + TOLERANCE_S, samples


def test_only_gateway_and_ssh_are_reached_from_outside(lab: Machines) -> None:
    rules = lab.ssh("here", "nft list table inet doorbuster")
    assert "policy drop" in rules
    assert lab.reaches("here", 8080)
    for port in (5432, 6379, 8081, 8082, 8083, 8086, 8087, 8088):
        assert not lab.reaches("here", port), port


def test_nobody_without_a_password_asks_redis(lab: Machines) -> None:
    assert "NOAUTH" in lab.ssh("here", "redis-cli ping 2>&1")
    up = "http://127.0.0.1:8088/api/v1/query?query=redis_up"
    asked = f"python3 -c 'import urllib.request as r; print(r.urlopen(\"{up}\").read().decode())'"
    (found,) = json.loads(lab.ssh("here", asked))["data"]["result"]
    assert found["value"][1] == "1"


def test_a_lab_is_reset_between_classes_and_results_stay(lab: Machines) -> None:
    before = lab.ssh("here", "ls /var/lib/doorbuster/results")
    assert before
    played = lab.play("reset.yml")
    assert played.status == 0, played.output[-5000:]
    assert lab.ssh("here", "ls /var/lib/doorbuster/results") == before
