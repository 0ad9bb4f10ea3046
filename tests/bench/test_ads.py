"""The ad server's benchmark: the parts of its tables."""

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from click import ClickException
from rich.console import Console

from bench.ads import Times, gain_table, gain_words, in_turns, lets_others_run, responses
from common import hosts


def test_python_lets_nobody_run_and_sleep_does():
    assert lets_others_run(lambda: [number * 2 for number in range(1000)]) == 0
    assert lets_others_run(lambda: time.sleep(0.05)) > 0


def test_every_kind_has_its_turns():
    counts = {"one": 0, "other": 0}

    def turn(kind):
        counts[kind] += 1

    times = in_turns({kind: lambda kind=kind: turn(kind) for kind in counts}, rounds=7)
    assert counts == {"one": 8, "other": 8}  # a round to warm up
    assert set(times) == set(counts)


def test_gains_are_against_one_thread():
    times = {1: Times(0.9, 1.0, 1.1), 2: Times(0.5, 0.6, 0.7)}
    console = Console(width=120)
    with console.capture() as captured:
        console.print(gain_table("Title", {"server": times}, 10, 0.25))
    [low, high] = [
        [cell.strip() for cell in line.strip("│ ").split("│")]
        for line in captured.get().splitlines()
        if "server" in line
    ]
    assert low[:3] == ["server", "1", "1000.00 (900.00–1100.00)"]
    assert high[:4] == ["server", "2", "600.00 (500.00–700.00)", "40%"]
    assert "25%" in captured.get()


def test_a_gain_has_an_interval_round_by_round():
    """A round in which the machine was slow for both does not widen it."""
    times = {1: Times.of([1.0, 3.0, 1.0, 3.0]), 2: Times.of([0.6, 2.4, 0.5, 2.5])}
    assert gain_words(times) == (
        "Gain of 2 threads in memory, %: 25.0 ± 6.5 (95 % interval, 4 rounds)"
    )


def test_a_client_that_gets_an_error_ends_the_measurement():
    """The error of a client's thread reaches the caller."""

    class Broken(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_error(500)

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer((hosts.LOOPBACK, 0), Broken) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            with pytest.raises(ClickException, match="the server answered 500"):
                responses(server.server_port, ["crime"], [0], clients=2, requests=2)
        finally:
            server.shutdown()
