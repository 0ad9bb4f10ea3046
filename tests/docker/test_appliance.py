"""From images to a comparison and back to nothing; all of it on a real engine.

One appliance goes through the tests of this module in their order: each needs the state the one
before has left, and a start takes a minute.
"""

import json
import os
import re
import signal
import ssl
import subprocess
import sys
import urllib.request
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from common import answering, cpus
from runtime import certificate_files, monitoring
from runtime.compose import engine
from runtime.compose import settings as compose_settings
from runtime.settings import REPOSITORY
from tests import waiting
from tests.docker.conftest import Containers, docker, inspected
from tests.lab.observed import Observed, words

pytestmark = pytest.mark.timeout(3600)

PATIENCE_S = 240.0
COMPARE = (
    *("compare", "--policies", "sq,8q-lifo-pri", "--rho", "1.4"),
    *("--sessions", "300", "--time-scale", "20"),
)
CPU_MANAGER = "doorbuster_cpu_manager_"
STEPS = {"shop-prepare", "ads-prepare", "lab-prepare"}

until = partial(waiting.until, within_s=PATIENCE_S, every_s=0.5)


def read_json(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
        return json.load(answer)


def test_up_makes_a_page_come_through_the_gateway(containers: Containers) -> None:
    code, printed = containers.run("up")
    assert code == 0, printed
    assert "✗" not in printed
    settings = containers.settings
    for port in (settings.gateway_port, settings.lab_port):
        assert f"http://127.0.0.1:{port}/" in printed
        assert answering.get_refusal("127.0.0.1", port, "/") is None
    there = containers.all()
    assert {name for name, one in there.items() if one.has_ended_well} == STEPS
    assert all(one.serves for name, one in there.items() if name not in STEPS)
    grafana = compose_settings.images()["GRAFANA_IMAGE"]
    names = (grafana, compose_settings.without_digest(grafana))
    has_grafana = any(engine.image_id(name) for name in names)
    assert ("grafana" in there) == has_grafana
    if not has_grafana:
        assert re.search(r"Grafana +omitted", printed), printed


def test_the_same_page_comes_by_tls(containers: Containers) -> None:
    settings = containers.settings
    authority = certificate_files.of(settings.state_dir).authority
    address = f"https://localhost:{settings.gateway_tls_port}/"
    trusting = ssl.create_default_context(cafile=authority)
    with urllib.request.urlopen(address, timeout=PATIENCE_S, context=trusting) as answer:
        assert b"<h1" in answer.read()


def test_nobody_is_root_and_nothing_can_be_written_but_what_is_meant_to(
    containers: Containers,
) -> None:
    for name, one in containers.all().items():
        if name in STEPS:
            continue
        status = Path(f"/proc/{inspected(one.id)['State']['Pid']}/status").read_text()
        assert re.search(r"^Uid:\s+[1-9]", status, re.MULTILINE), name
        assert re.search(r"^CapEff:\s+0+$", status, re.MULTILINE), name
        assert inspected(one.id)["HostConfig"]["ReadonlyRootfs"], name
    refused = containers.inside("shop", "touch", "/app/x")
    assert "Read-only file system" in refused.stderr


def test_the_image_has_no_compiler_and_no_secret(containers: Containers) -> None:
    for program in ("gcc", "cc", "g++", "uv"):
        assert containers.inside("shop", "bash", "-c", f"command -v {program}").returncode != 0
    image = containers.project.image
    history = docker("image", "history", "--no-trunc", image).stdout
    variables = json.dumps(json.loads(docker("image", "inspect", image).stdout)[0]["Config"]["Env"])
    settings = containers.settings
    for secret in (settings.postgres_password, settings.secret_key, "BEGIN CERTIFICATE"):
        assert secret not in history + variables
    shown = containers.inside("shop", "bash", "-c", "ls -A /app /run/secrets /var/lib/doorbuster")
    assert ".env" not in shown.stdout
    assert "secrets.json" not in shown.stdout


def test_the_image_says_what_it_is_and_a_clone_of_root_finds_its_results(
    containers: Containers,
) -> None:
    """Results have the same path inside as outside, so root's home must let others through."""
    image = containers.project.image
    labels = json.loads(docker("image", "inspect", image).stdout)[0]["Config"]["Labels"]
    given = {
        name.rpartition(".")[2]: text for name, text in labels.items() if "opencontainers" in name
    }
    assert given["title"] == "Doorbuster"
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", given["version"])
    assert (
        containers.inside("lab-worker", "stat", "--format", "%A", "/root").stdout == "drwx--x--x\n"
    )


def test_psql_works_as_the_docs_write_it(containers: Containers) -> None:
    """`make compose ARGS="exec postgres psql"` needs no name and no password."""
    shown = containers.inside("postgres", "psql", "-Atc", "SELECT count(*) > 0 FROM shop_book")
    assert shown.stdout == "t\n", shown.stderr


def test_workers_that_hang_are_seen(containers: Containers) -> None:
    """The health check reads the file that each worker touches while it works."""
    assert containers.all()["lab-worker"].health == "healthy"
    pid = inspected(containers.all()["lab-worker"].id)["State"]["Pid"]
    family = [
        pid,
        *(
            int(one)
            for one in subprocess.run(
                ["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False
            ).stdout.split()
        ),
    ]
    for one in family:
        os.kill(one, signal.SIGSTOP)
    try:
        assert until(lambda: containers.all()["lab-worker"].health == "unhealthy")
    finally:
        for one in family:
            os.kill(one, signal.SIGCONT)
    assert until(lambda: containers.all()["lab-worker"].health == "healthy")


def test_ports_are_seen_on_loopback_only(containers: Containers) -> None:
    published = [
        binding["HostIp"]
        for one in containers.all().values()
        for bindings in (inspected(one.id)["HostConfig"]["PortBindings"] or {}).values()
        for binding in bindings
    ]
    assert published
    assert set(published) == {"127.0.0.1"}


def test_the_shop_has_its_cpus_for_itself(containers: Containers) -> None:
    settings = containers.settings
    shop, others = cpus.written(settings.shop_cpus), cpus.written(settings.other_cpus)
    for name, one in containers.all().items():
        if name not in ("lab", "lab-worker", "lab-prepare"):
            assert one.cpus == (shop if name == "shop" else others), name
    # These two may use all, for hosting platforms, and keep to the others by themselves.
    for name in ("lab", "lab-worker"):
        status = Path(f"/proc/{inspected(containers.all()[name].id)['State']['Pid']}/status")
        allowed = re.search(r"^Cpus_allowed_list:\s+(\S+)$", status.read_text(), re.MULTILINE)
        assert allowed is not None
        assert cpus.parse(allowed[1]) == settings.other_cpus


def test_a_second_up_restarts_nothing(containers: Containers) -> None:
    before = {name: (one.id, one.restarts) for name, one in containers.all().items()}
    code, printed = containers.run("up")
    assert code == 0, printed
    assert {name: (one.id, one.restarts) for name, one in containers.all().items()} == before
    assert "Tables and" not in printed


def test_another_setting_replaces_whom_it_concerns(containers: Containers) -> None:
    """So does another image; the console and its workers are in a namespace that stays."""
    before = {name: one.id for name, one in containers.all().items()}
    containers.environment["DOORBUSTER_ADS_BANNERS"] = "6100"
    code, printed = containers.run("up")
    assert code == 0, printed
    replaced = {name for name, one in containers.all().items() if one.id != before[name]}
    assert {"lab", "lab-worker"} <= replaced
    assert not {"lab-processes", "postgres", "redis", "prometheus"} & replaced
    assert all(one.serves for name, one in containers.all().items() if name not in STEPS)


def test_status_and_logs_tell_of_containers(containers: Containers) -> None:
    code, printed = containers.run("status")
    assert code == 0, printed
    assert re.search(r"^shop +running +healthy", printed, re.MULTILINE), printed
    assert re.search(r"^shop-prepare +done", printed, re.MULTILINE), printed
    code, printed = containers.run("status", "--json")
    assert code == 0, printed
    states = {one["service"]: one["state"] for one in json.loads(printed)["services"]}
    assert (states["shop"], states["shop-prepare"]) == ("running", "done")
    with containers.start("logs", "shop-prepare") as process:
        assert process.stdout is not None
        assert "shop-prepare" in process.stdout.readline()  # and follows until it is ended
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)


def test_prometheus_has_every_target_up(containers: Containers) -> None:
    address = f"http://127.0.0.1:{containers.settings.prometheus_port}/api/v1/targets"

    def health() -> dict[str, str]:
        active = read_json(address)["data"]["activeTargets"]
        return {target["labels"]["job"]: target["health"] for target in active}

    until(lambda: set(health().values()) == {"up"}, json.dumps(read_json(address))[:4000])
    declared = monitoring.targets(containers.settings, monitoring.COMPOSE)
    assert set(health()) == {one["labels"]["job"] for one in declared}


def test_a_comparison_runs_and_its_result_is_on_this_machine(containers: Containers) -> None:
    code, printed = containers.run(*COMPARE)
    assert code == 0, printed
    (folder,) = containers.settings.results_dir.iterdir()
    assert str(folder) in printed
    runs = sorted(folder.glob("runs/*/run.json"))
    assert len(runs) == 2
    assert all((run.parent / "attempts.parquet").stat().st_size for run in runs)


def test_every_query_of_the_dashboards_has_data_under_load(containers: Containers) -> None:
    observed = Observed(containers.settings, lambda *words: containers.start(*words))
    observed.under_load()
    # Hosting platforms are not scraped in containers (docs/monitoring.md).
    observed.wait(but=[CPU_MANAGER])
    found = observed.unanswered(but=[CPU_MANAGER])
    assert not found, words(found)


def test_an_interrupt_reaches_the_command_inside(containers: Containers) -> None:
    process = containers.start(*COMPARE, "--seed", "2")

    def sends_load() -> bool:
        shown = containers.inside("lab-worker", "bash", "-c", "cat /proc/[0-9]*/cmdline").stdout
        return "locust" in shown

    until(sends_load, "no load was sent")
    process.send_signal(signal.SIGINT)
    printed, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, printed
    assert "nterrupted" in printed
    until(lambda: not sends_load(), "load is left behind")


def test_a_command_beside_the_appliance_is_not_on_the_shops_cpus(containers: Containers) -> None:
    code, printed = containers.run(
        "exec", "python", "-c", "import os; print(sorted(os.sched_getaffinity(0)))"
    )
    assert code == 0, printed
    assert json.loads(printed) == list(containers.settings.other_cpus)


def test_accounts_are_made_inside(containers: Containers) -> None:
    made = subprocess.run(
        [sys.executable, "-m", "doorbuster", "class", "students", "-"],
        cwd=REPOSITORY,
        env=containers.environment,
        input="name\nada\ngrace\n",
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert made.returncode == 0, made.stderr
    assert [line.split(",")[0] for line in made.stdout.splitlines()] == ["ada", "grace"]


def test_load_comes_from_several_processes(containers: Containers) -> None:
    scale = ("--scale", "loadgen=2", "loadgen")
    code, printed = containers.run(
        "compose", "--profile", "loadgen", "up", "--detach", "--no-deps", "--no-build", *scale
    )
    assert code == 0, printed
    file = "/tmp/attempts.parquet"
    options = ("--expect-workers", "2", "--sessions", "40", "--rho", "1", "--time-scale", "20")
    code, printed = containers.run(
        *("exec", "python", "-m", "loadgen", "run", "--master", *options, "--attempts-file", file),
        *("--host", f"http://gateway:{containers.settings.gateway_port}"),
    )
    assert code == 0, printed
    assert containers.inside("lab-worker", "test", "-s", file).returncode == 0


def test_down_leaves_nothing_but_the_volumes(containers: Containers) -> None:
    code, printed = containers.run("down")
    assert code == 0, printed
    label = f"label=com.docker.compose.project={containers.project.name}"
    assert containers.all() == {}
    assert docker("network", "ls", "--quiet", "--filter", label).stdout == ""
    assert docker("volume", "ls", "--quiet", "--filter", label).stdout != ""
    assert answering.get_refusal("127.0.0.1", containers.settings.gateway_port, "/") is not None
    code, printed = containers.run("down")
    assert code == 0
    assert "was down already" in printed


def test_reset_empties_the_volumes_and_keeps_the_results(containers: Containers) -> None:
    containers.environment["FORCE"] = "1"
    project = containers.project
    code, printed = containers.run("reset")
    assert code == 0, printed
    label = f"label=com.docker.compose.project={project.name}"
    assert docker("volume", "ls", "--quiet", "--filter", label).stdout == ""
    assert not project.state.folder.exists()
    assert list(containers.settings.results_dir.iterdir())
