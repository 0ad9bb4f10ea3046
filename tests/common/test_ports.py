"""The message about a taken port names the holder and a way to choose another port."""

import os
import signal
import socket
from pathlib import Path

import pytest

from common import ports
from runtime.native import up
from runtime.native.services import Service
from runtime.settings import OPTIONAL_PORTS, load


@pytest.fixture
def taken():
    """Yield a port on which this process listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_free_ports_are_free_and_differ():
    found = ports.free(6)
    assert len(set(found)) == 6
    assert [ports.holder(port) for port in found] == [None] * 6
    assert not set(found) & set(ports.free(50))


def test_nobody_who_asks_for_any_port_is_given_a_free_one():
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    if first <= ports.LOWEST_FREE + 5_000:
        pytest.skip("this machine gives nearly all ports to connections")
    assert max(ports.free(50)) < first


def test_the_holder_of_a_port_is_named(taken):
    assert f"process {os.getpid()} " in str(ports.holder(taken))


def test_a_taken_port_names_the_line_for_the_env_file(taken):
    names = load().ports()
    variables = {
        name: str(port) for name, port in zip(names, ports.free(len(names)), strict=True)
    } | {"DOORBUSTER_SHOP_PORT": str(taken)}
    settings = load(variables)
    (line,) = up.taken_ports(settings, settings.ports())
    assert line.startswith(f"port {taken} is taken by process {os.getpid()} ")
    chosen = line.split("DOORBUSTER_SHOP_PORT=")[1].split()[0]
    assert ports.holder(int(chosen)) is None


def test_the_proposed_port_is_the_first_that_is_free_and_no_setting_uses(taken):
    assert ports.first_free(taken, ()) != taken
    free = ports.first_free(taken, ())
    assert free is not None
    assert ports.first_free(free, ()) == free
    assert ports.first_free(free, {free}) not in (free, None)


def test_two_taken_ports_get_two_proposals_and_the_same_ones_again():
    with (
        socket.create_server(("127.0.0.1", 0)) as one,
        socket.create_server(("127.0.0.1", 0)) as two,
    ):
        # The third setting holds the first spare port: it is not proposed to the others.
        names = load().ports()
        given = [str(20_001 + number) for number in range(len(names))]
        given[2] = str(up.FIRST_SPARE_PORT)
        given[-2:] = [str(listener.getsockname()[1]) for listener in (one, two)]
        settings = load(dict(zip(names, given, strict=True)))

        def said():
            return up.taken_ports(settings, settings.ports())

        lines = [line for line in said() if any(p in line for p in given[-2:])]
        proposed = [int(line.rpartition("=")[2].split()[0]) for line in lines]
        assert len(set(proposed)) == 2
        assert min(proposed) > up.FIRST_SPARE_PORT
        again = [line for line in said() if any(p in line for p in given[-2:])]
        assert again == lines


def test_an_address_of_another_machine_names_the_variable():
    names = load().ports()
    given = {name: str(port) for name, port in zip(names, ports.free(len(names)), strict=True)}
    # TEST-NET-1 of RFC 5737: nobody has it.
    for variable in ("DOORBUSTER_HOST", "DOORBUSTER_INNER_HOST"):
        settings = load(given | {variable: "192.0.2.1"})
        (line,) = up.taken_ports(settings, settings.ports())
        assert line.startswith(f"{variable}: 192.0.2.1 is not an address of this machine")


def test_ports_of_services_that_do_not_run_are_not_asked_for(taken):
    needed = ["DOORBUSTER_LAB_PORT", "DOORBUSTER_PROMETHEUS_PORT", "DOORBUSTER_GRAFANA_PORT"]
    given = dict.fromkeys(needed, str(taken))
    settings = load(given)
    assert set(settings.ports()) - set(up.ports_of(settings, [])) == OPTIONAL_PORTS
    running = Service(
        name="prometheus",
        title="Prometheus",
        program=("prometheus",),
        port=settings.prometheus_port,
        port_variable="DOORBUSTER_PROMETHEUS_PORT",
        cpus=settings.other_cpus,
        stop_signal=signal.SIGTERM,
        stop_wait_s=1,
        ready_within_s=1,
        refusal=lambda: None,
    )
    wanted = up.ports_of(settings, [running])
    assert wanted["DOORBUSTER_PROMETHEUS_PORT"] == taken
    assert "DOORBUSTER_GRAFANA_PORT" not in wanted
    said = "DOORBUSTER_LAB_PORT and DOORBUSTER_PROMETHEUS_PORT have the same port"
    assert not any(said in line for line in up.taken_ports(settings, up.ports_of(settings, [])))
    assert any(said in line for line in up.taken_ports(settings, wanted))


def test_a_host_that_nobody_knows_names_the_variable():
    # RFC 2606: no such name will ever be.
    settings = load({"DOORBUSTER_SHOP_HOST": "shop.invalid"})
    (line,) = up.unknown_hosts(settings)
    assert line.startswith("DOORBUSTER_SHOP_HOST=shop.invalid: no such host")
    assert up.unknown_hosts(load({"DOORBUSTER_SHOP_HOST": "localhost"})) == []


def test_a_port_accepts_once_a_process_listens(taken):
    """A free port accepts nothing."""
    [free] = ports.free(1)
    assert ports.accepts(taken)
    assert not ports.accepts(free)
