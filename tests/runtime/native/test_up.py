"""The life of an appliance: up, up again, a killed supervisor, down; all of it real.

One appliance goes through the tests of this module in their order: each needs the state that the
last one left, and a start costs seconds.
"""

import json
import os
import re
import signal
import socket
import ssl
import stat
import sys
import urllib.request

import psutil
import pytest
import requests

from common import answering, cpus
from runtime import certificate_files
from runtime.native import services, up
from runtime.native.supervision import Supervisor, left_over
from tests.runtime.conftest import Appliance
from tests.waiting import until

pytestmark = pytest.mark.slow


def pids(appliance: Appliance) -> dict[str, int]:
    return {name: state.pid for name, state in Supervisor(appliance.state).states().items()}


def test_up_makes_a_page_come_through_the_gateway(appliance: Appliance) -> None:
    code, printed = appliance.run("up")
    assert code == 0, printed
    settings = appliance.settings
    assert f"http://127.0.0.1:{settings.gateway_port}/" in printed
    for name, text in up.SIGN_IN.items():
        assert re.search(rf"{name} +{text} ", printed), printed
    assert answering.get_refusal("127.0.0.1", settings.gateway_port, "/") is None
    assert "✓ Contracts of 6,000 banners" in printed
    for port in (settings.ads_port, settings.gateway_port):
        assert answering.get_refusal("127.0.0.1", port, "/ads/health") is None
    assert "✗" not in printed


def test_the_same_page_comes_by_tls(appliance: Appliance) -> None:
    settings = appliance.settings
    trusting = ssl.create_default_context(cafile=certificate_files.of(settings.state_dir).authority)
    for name in ("127.0.0.1", "localhost"):
        address = f"https://{name}:{settings.gateway_tls_port}/"
        with urllib.request.urlopen(address, timeout=240, context=trusting) as answer:
            assert b"<h1" in answer.read()
    assert settings.gateway_tls_key.stat().st_mode & 0o777 == 0o600


def test_pages_have_banners_whose_pictures_come_through_the_gateway(appliance: Appliance) -> None:
    shop = f"http://127.0.0.1:{appliance.settings.gateway_port}"

    def picture_on_a_page() -> re.Match[str] | None:
        with urllib.request.urlopen(f"{shop}/browse/crime/", timeout=240) as answer:
            return re.search(r'src="(/ads/banner/\d+\.svg)"', answer.read().decode())

    # On a busy machine a page may have to do without.
    picture = until(picture_on_a_page)
    assert picture is not None
    with urllib.request.urlopen(shop + picture[1], timeout=240) as answer:
        assert answer.headers["Content-Type"].startswith("image/svg+xml")


def test_each_service_has_its_cpus(appliance: Appliance) -> None:
    settings = appliance.settings
    for name, pid in pids(appliance).items():
        on = settings.shop_cpus if name == "shop" else settings.other_cpus
        family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
        assert {tuple(sorted(os.sched_getaffinity(one.pid))) for one in family} == {on}, name


def test_everything_listens_on_loopback_only(appliance: Appliance) -> None:
    settings = appliance.settings
    ports = set(up.ports_of(settings, services.table(settings, appliance.state)).values())
    listening = [
        connection.laddr
        for process in left_over(appliance.state)
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert {address.port for address in listening} == ports
    assert {address.ip for address in listening} == {"127.0.0.1"}


def test_a_second_up_restarts_nothing(appliance: Appliance) -> None:
    """A change of the first look restarts nothing either."""
    before = pids(appliance)
    code, printed = appliance.run("up", DOORBUSTER_FIRST_LOOK="1")
    assert code == 0, printed
    assert pids(appliance) == before
    assert printed.count("already runs") == len(before)


def test_status_and_doctor_say_that_it_is_healthy(appliance: Appliance) -> None:
    code, printed = appliance.run("status", COLUMNS="200")
    assert code == 0
    assert printed.count("healthy") == len(pids(appliance))
    code, printed = appliance.run("status", "--json")
    assert code == 0
    found = json.loads(printed)
    assert found["runtime"] == "native"
    assert {one["health"] for one in found["services"]} == {"healthy"}
    assert {one["service"]: one["pid"] for one in found["services"]} == pids(appliance)
    on = cpus.written(appliance.settings.shop_cpus)
    assert (
        f"healthy on port {appliance.settings.shop_port}, CPUs {on}" in appliance.run("doctor")[1]
    )


def test_logs_of_an_unknown_service_name_the_known_ones(appliance: Appliance) -> None:
    code, printed = appliance.run("logs", "shoop")
    assert code == 2
    _, said, known = printed.partition("Error: no log of shoop; allowed: ")
    assert said, printed
    always = (
        "ads-seed ads broker gateway lab-prepare lab-worker lab postgres redis seed shop supervisor"
    )
    # With Prometheus installed its watchers have logs, too.
    assert set(always.split()) <= set(known.strip().split(", "))


def test_a_command_beside_the_appliance_has_its_settings_and_not_its_cpu(
    appliance: Appliance,
) -> None:
    say = "import os; print(os.environ['DOORBUSTER_POSTGRES_PASSWORD'], os.sched_getaffinity(0))"
    code, printed = appliance.run("exec", sys.executable, "-c", say)
    settings = appliance.settings
    assert code == 0, printed
    assert printed.strip() == f"{settings.postgres_password} {set(settings.other_cpus)}"


def test_changed_code_restarts_its_service_alone(appliance: Appliance) -> None:
    before = pids(appliance)
    appliance.state.stamp("gateway").write_text("an older version")
    code, printed = appliance.run("up")
    assert code == 0, printed
    changed = {name for name, pid in pids(appliance).items() if pid != before[name]}
    assert changed == {"gateway"}


def test_a_service_that_dies_is_started_again(appliance: Appliance) -> None:
    before = pids(appliance)
    os.kill(before["redis"], signal.SIGKILL)
    assert until(lambda: pids(appliance)["redis"] not in (0, before["redis"]))


def test_other_settings_restart_everything_for_a_class(appliance: Appliance) -> None:
    """With accounts, `make up` prints the console's https address and the authority to import."""
    before = pids(appliance)
    appliance.variables |= {"DOORBUSTER_LAB_ACCOUNTS": "1", "DOORBUSTER_LAB_CLASSROOM": "1"}
    code, printed = appliance.run("up", COLUMNS="200")
    assert code == 0, printed
    assert not set(before.values()) & set(pids(appliance).values())
    settings = appliance.settings
    assert f"https://127.0.0.1:{settings.lab_port}/" in printed
    assert str(certificate_files.of(settings.state_dir).authority) in printed


def test_a_student_logs_in_by_tls(appliance: Appliance) -> None:
    """An account that was made at a terminal opens the console, whose certificate is verified."""
    settings = appliance.settings
    _, printed = appliance.run("class", "student", "bert")
    _, _, password = printed.strip().splitlines()[-1].partition(",")
    assert password, printed
    url = f"https://localhost:{settings.lab_port}/"
    with requests.Session() as browser:
        browser.trust_env = False  # a bundle in the environment would replace the authority
        browser.verify = str(certificate_files.of(settings.state_dir).authority)
        page = browser.get(url, timeout=240)
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
        assert token, page.text
        sent = {"username": "bert", "password": password, "csrfmiddlewaretoken": token[1]}
        answer = browser.post(page.url, sent, headers={"Referer": page.url}, timeout=240)
        assert "Log out" in answer.text
        assert browser.get(f"{url}results/", timeout=240).status_code == 200


def test_nothing_in_the_state_folder_is_for_others(appliance: Appliance) -> None:
    """Other accounts of the machine reach no file of the appliance, whatever its name.

    Root's PostgreSQL and Redis only pass through to their folders, under their accounts.
    """
    folder = appliance.state.folder
    open_to_others = []
    for parent, folders, files in os.walk(folder):
        mode = stat.S_IMODE(os.stat(parent).st_mode)
        if mode & 0o077 == 0:
            folders.clear()  # nobody else gets past it
            continue
        open_to_others += [
            f"{parent}/{name}"
            for name in files
            if os.lstat(f"{parent}/{name}").st_mode & 0o077 and not name.endswith(".pem")
        ]
        open_to_others += [parent] if mode & 0o066 else []
    # A copy of the embedded PostgreSQL, for a clone that its account cannot enter, has no secrets.
    kept_by_others = tuple(str(folder / name) for name in ("redis", "certificates", "postgresql"))
    assert not [path for path in open_to_others if not path.startswith(kept_by_others)]


def lives(process: psutil.Process) -> bool:
    """Return whether the process has not ended; a zombie has, and only waits for init."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_down_leaves_nothing_even_when_the_supervisor_was_killed(appliance: Appliance) -> None:
    running = left_over(appliance.state)
    supervisor = Supervisor(appliance.state).recorded_pid()
    assert supervisor is not None
    os.kill(supervisor, signal.SIGKILL)
    code, printed = appliance.run("down")
    assert code == 0, printed
    assert left_over(appliance.state) == []
    assert [one for one in running if lives(one)] == []
    assert "was down already" in appliance.run("down")[1]
    code, printed = appliance.run("exec", "true")
    assert code == 1
    assert "make up" in printed


def test_a_port_that_is_soon_free_again_stops_no_start(appliance: Appliance) -> None:
    repeats = "ended immediately after its start; the start is repeated"
    with socket.socket() as held, appliance.running("up") as process:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        assert process.stdout is not None
        printed = ""
        for line in process.stdout:
            printed += line
            if "Supervisor" in line:  # the ports have been looked at
                held.bind(("127.0.0.1", appliance.settings.redis_port))
                held.listen()
            if repeats in line:
                held.close()
        assert process.wait(240) == 0, printed
    assert repeats in printed
    assert appliance.run("down")[0] == 0


def test_a_taken_port_stops_the_start_and_leaves_nothing(appliance: Appliance) -> None:
    with socket.create_server(("127.0.0.1", appliance.settings.shop_port)):
        code, printed = appliance.run("up")
    assert code == 1
    assert f"port {appliance.settings.shop_port} is taken by process {os.getpid()}" in printed
    assert "DOORBUSTER_SHOP_PORT=" in printed
    assert left_over(appliance.state) == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("variable", "words"),
    [
        ("GATEWAY_POLICY=first-come-last-served", ["✗ Gateway", "served", "logs/gateway.log"]),
        ("ADS_PROCESSES=none", ["DOORBUSTER_ADS_PROCESSES=none"]),
    ],
)
def test_a_service_that_cannot_start_shows_its_last_words(
    appliance: Appliance, variable: str, words: list[str]
) -> None:
    name, _, text = f"DOORBUSTER_{variable}".partition("=")
    code, printed = appliance.run("up", **{name: text})
    assert code == 1
    assert [word for word in words if word not in printed] == []
    assert left_over(appliance.state) == []


def test_an_interrupt_stops_what_was_started(appliance: Appliance) -> None:
    with appliance.running("up") as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "PostgreSQL" in line and "✓" in line and "Programs" not in line:
                break
        process.send_signal(signal.SIGINT)
        printed = process.stdout.read()
        assert process.wait(240) == 130
    assert "Interrupted" in printed
    assert left_over(appliance.state) == []


@pytest.mark.long
def test_a_cold_start_keeps_the_database_and_is_seeded_once(appliance: Appliance) -> None:
    code, printed = appliance.run("up")
    assert code == 0, printed
    assert "Tables and" not in printed
    assert "Contracts of" not in printed
    code, printed = appliance.run("down")
    assert code == 0, printed
    assert left_over(appliance.state) == []
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", appliance.settings.postgres_port), timeout=1)


@pytest.mark.long
def test_another_number_of_books_takes_effect_at_the_next_up(appliance: Appliance) -> None:
    code, printed = appliance.run("up", DOORBUSTER_CATALOGUE_BOOKS="4400")
    assert code == 0, printed
    assert "✓ Tables and 4,400 books" in printed
    url = f"http://127.0.0.1:{appliance.settings.shop_controller_port}/status"
    # Another account on this machine makes the token necessary; without one it does no harm.
    name, _, value = appliance.run("token")[1].strip().partition(": ")
    asked = urllib.request.Request(url, headers={name: value})
    with urllib.request.urlopen(asked, timeout=240) as answer:
        assert json.load(answer)["books"] == 4400
