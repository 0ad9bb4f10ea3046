"""The papers' inventories, each on as many system containers as it has hosts."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.ansible.conftest import made
from tests.ansible.machines import Machines
from tests.ansible.playing import ANSIBLE

PAPERS = ("lifo-pri", "sbac", "connection-sentry", "ad-server", "edragon")
BYTES = {"M": 1024**2, "G": 1024**3}

pytestmark = pytest.mark.timeout(7200)


def hosts_of(inventory: str) -> dict[str, dict[str, Any]]:
    text = (ANSIBLE / "inventories" / inventory / "hosts.yml").read_text()
    return dict(yaml.safe_load(text)["host"]["hosts"])


def groups_of(inventory: str) -> dict[str, list[str]]:
    text = (ANSIBLE / "inventories" / inventory / "hosts.yml").read_text()
    return {part: list(group["hosts"]) for part, group in yaml.safe_load(text).items()}


@pytest.fixture(scope="module", params=PAPERS)
def paper(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machines]:
    """Yield the hosts of a paper's inventory."""
    folder: Path = tmp_path_factory.mktemp(request.param)
    yield from made(request, folder, request.param, list(hosts_of(request.param)))


def test_missing_cpus_are_named(paper: Machines) -> None:
    """Where this machine has too few CPUs, the test goes on with one variable changed."""
    here = len(os.sched_getaffinity(0))
    hosts = hosts_of(paper.inventory)
    wanting = {
        name: variables["doorbuster_needs_cpus"]
        for name, variables in hosts.items()
        if variables.get("doorbuster_needs_cpus", 0) > here
    }
    if not wanting:
        pytest.skip(f"this machine has the CPUs of {paper.inventory}")
    played = paper.play("site.yml")
    assert played.status != 0
    assert played.changed == 0
    said = " ".join(played.output.split())
    for name, cpus in wanting.items():
        assert f"host {name}: has {here} CPUs, doorbuster_needs_cpus is {cpus}" in said
    paper.variables["doorbuster_needs_cpus"] = here


def test_every_role_converges(paper: Machines) -> None:
    played = paper.play("site.yml")
    assert played.status == 0, played.output[-5000:]


def test_limits_are_in_force(paper: Machines) -> None:
    text = (ANSIBLE / "inventories" / paper.inventory / "group_vars" / "all.yml").read_text()
    given: dict[str, dict[str, Any]] = yaml.safe_load(text)["doorbuster_limits"]
    groups = groups_of(paper.inventory)
    for part, limit in given.items():
        (name,) = groups[part]
        found = paper.limits(name, part)[part]
        memory = int(limit["memory"][:-1]) * BYTES[limit["memory"][-1]]
        assert found["told"] == found["kept"] == {"quota": limit["quota"], "memory": memory}


def test_it_does_what_it_is_for(paper: Machines) -> None:
    """Services run, each part has its limits and its access, and a comparison's counts
    reconcile."""
    played = paper.play("verify.yml")
    assert played.status == 0, played.output[-5000:]


def test_edragon_hosts_two_shops(paper: Machines) -> None:
    """The hosting platform on the server: two secure shops, processors from their CPU manager."""
    if paper.inventory != "edragon":
        pytest.skip("only eDragon's hosts run a platform")
    costs = "--key ec-p256 --cto 0.02 --ctn 0.1"
    start = "systemd-run -q --unit=platform -p KillSignal=SIGINT /usr/local/bin/doorbuster platform"
    paper.ssh("server", f"{start} {costs}")
    page = (
        "import ssl, time, urllib.request as request\n"
        "context = ssl._create_unverified_context()\n"
        "for port in (8451, 8452):\n"
        "    text = b''\n"
        "    for attempt in range(60):\n"
        "        try:\n"
        "            text = request.urlopen(f'https://127.0.0.1:{port}/', context=context).read()\n"
        "            break\n"
        "        except OSError:\n"
        "            time.sleep(2)\n"
        "    print(port, b'/browse/' in text)\n"
    )
    try:
        said = paper.ssh("server", f'python3 -c "{page}"')
        journal = paper.ssh("server", "sleep 12; journalctl --unit platform --output cat")
    finally:
        paper.ssh("server", "systemctl stop platform")
    assert said.splitlines() == ["8451 True", "8452 True"], journal
    assert "application-2" in journal
