"""The shared parts of the benchmarks: wrk's numbers, programs, rounds, percentiles."""

import math
import os
import random
import sys

import psutil
import pytest
from click import ClickException

from bench import harness
from bench.harness import Wrk, interleaved, need, percentile, running

WRK = """Running 2s test @ http://127.0.0.1:1/
  Latency Distribution
     50%    1.20ms
     99%  {p99}
  14000 requests in 2.00s, 9.20MB read
  Socket errors: connect 0, read 3, write 1, timeout 2
  Non-2xx or 3xx responses: 13900
Requests/sec:   7000.00
"""


@pytest.mark.parametrize(("p99", "ms"), [("850.00us", 0.85), ("2.64ms", 2.64), ("1.50s", 1500)])
def test_the_numbers_of_wrk_are_read(p99, ms):
    """Refused requests and errors are read separately from all answers."""
    assert Wrk.read(WRK.format(p99=p99)) == Wrk(14_000, 13_900, 6, 7000.0, pytest.approx(ms))


def test_without_latencies_there_is_no_p99():
    """Wrk prints latencies only with `--latency`."""
    read = Wrk.read("  1000 requests in 1.00s, 1.20MB read\nRequests/sec:   1234.56\n")
    assert (read.served, read.errors, read.rate_rps) == (1000, 0, 1234.56)
    assert math.isnan(read.p99_ms)


def test_a_wrk_that_did_not_measure_is_an_error():
    """The error has the text that wrk printed."""
    with pytest.raises(ClickException, match="unable to connect"):
        Wrk.read("unable to connect to 127.0.0.1:1")


def test_missing_programs_are_named_with_their_packages(monkeypatch):
    """The error names the Debian packages, in the order of the programs."""
    monkeypatch.setattr(
        harness.shutil, "which", lambda name, path: name if name == "haproxy" else None
    )
    with pytest.raises(ClickException) as fault:
        need("nginx", "haproxy", "wrk")
    assert fault.value.message == (
        "cannot find nginx, wrk; on Debian or Ubuntu, run: apt-get install nginx-light wrk"
    )


def test_each_round_has_every_case():
    """Rounds that only warm up have numbers below 1."""
    found = list(interleaved("abc", 2, random.Random(1), warm_up=1))
    assert [number for number, _ in found] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert all({case for at, case in found if at == number} == set("abc") for number in range(3))


@pytest.mark.parametrize(("ratio", "value"), [(0.0, 1.0), (0.5, 6.0), (0.99, 10.0), (1.0, 10.0)])
def test_percentiles(ratio, value):
    assert percentile([float(n) for n in range(1, 11)], ratio) == value


def test_a_program_runs_on_its_cpus_with_its_settings_only(monkeypatch, tmp_path):
    """The settings of this process do not apply to it, and it ends with the block."""
    monkeypatch.setenv("DOORBUSTER_SHOP_PORT", "1")
    [cpu, *_] = os.sched_getaffinity(0)
    ready = tmp_path / "ready"
    code = (
        "import os, pathlib, time; "
        "names = [n for n in os.environ if n.startswith('DOORBUSTER_')]; "
        f"pathlib.Path({str(ready)!r}).write_text(' '.join(names)); time.sleep(60)"
    )
    with running(
        [sys.executable, "-c", code],
        lambda: ready.exists() and ready.read_text() != "",
        on=(cpu,),
        environment={"DOORBUSTER_REDIS_PORT": "2"},
    ) as process:
        assert ready.read_text() == "DOORBUSTER_REDIS_PORT"
        assert process.cpu_affinity() == [cpu]
    assert not psutil.pid_exists(process.pid)


def test_a_program_that_does_not_start_is_an_error_with_its_last_words():
    """The error has the end of the program's standard error."""
    with (
        pytest.raises(ClickException, match="does not start: no such shop"),
        running([sys.executable, "-c", "raise SystemExit('no such shop')"], lambda: False),
    ):
        raise AssertionError("the block must not begin")
