"""Functions run in a child process with limits, and every limit is named when it is reached."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from common.bounded import BoundedError, Bounds, BoundsExceededError, call
from tests.waiting import until

BOUNDS = Bounds(memory_bytes=256 * 2**20, cpu_s=5, wall_s=20)
HERE = "tests.common.test_bounded:"


class OwnError(Exception):
    """A refusal with a text for a person."""


def echo(argument):
    """Return the argument."""
    print("a library that prints is no answer")
    return argument


def refuse(argument):
    """Raise the error that the argument names."""
    raise {"own": OwnError, "foreign": KeyError}[argument]("field: 3; allowed: 1 or 2\nsecond")


def use(argument):
    """Reach one of the limits."""
    if argument == "memory":
        return len(bytearray(2**30))
    if argument == "cpu":
        while True:
            pass
    if argument == "wall":
        time.sleep(60)
    if argument == "depth":
        return [use(argument)]
    if argument == "abort":
        os.abort()
    return "x" * 2_000_000


def write(argument):
    """Write a megabyte."""
    Path(argument).write_bytes(bytes(2**20))


def surroundings(argument):
    """Return what the child sees of its environment."""
    return dict(os.environ)


def start_child_that_waits(argument):
    """Leave the process id and that of a grandchild in a file, and never return."""
    grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    with open(argument, "w") as file:
        file.write(f"{os.getpid()} {grandchild.pid}")
    time.sleep(600)


def test_the_answer_comes_back():
    """An argument of any JSON goes to the function and its answer comes back."""
    argument = {"text": "ρ ≥ 1", "list": [1, None, 2.5]}
    assert call(HERE + "echo", argument, BOUNDS) == argument


def test_a_refusal_passes_as_one_line():
    """A refusal of the function's own package keeps its text, any other names its class."""
    with pytest.raises(BoundedError, match=r"^field: 3; allowed: 1 or 2 second$"):
        call(HERE + "refuse", "own", BOUNDS)
    with pytest.raises(BoundedError, match=r"^KeyError: 'field: 3"):
        call(HERE + "refuse", "foreign", BOUNDS)


@pytest.mark.parametrize(
    ("limit", "bounds", "words"),
    [
        ("memory", BOUNDS, "256 MiB of memory"),
        ("cpu", Bounds(memory_bytes=2**28, cpu_s=1, wall_s=20), "1 s of CPU time"),
        ("wall", Bounds(memory_bytes=2**28, cpu_s=5, wall_s=1), "more than 1 s"),
        ("depth", BOUNDS, "nested too deeply"),
        ("abort", BOUNDS, "SIGABRT"),
        ("answer", BOUNDS, "more than 1,048,576 bytes"),
    ],
)
def test_each_limit_is_named(limit, bounds, words):
    """A call that reaches a limit ends with one line that names it."""
    with pytest.raises(BoundsExceededError, match=words):
        call(HERE + "use", limit, bounds)


def test_no_file_is_written_unless_allowed(tmp_path):
    """The function writes files up to `file_bytes` and none by default."""
    with pytest.raises(BoundedError, match="a file of more than 0 bytes"):
        call(HERE + "write", str(tmp_path / "refused"), BOUNDS)
    allowed = Bounds(memory_bytes=2**28, cpu_s=5, wall_s=20, file_bytes=2**20)
    call(HERE + "write", str(tmp_path / "written"), allowed)
    assert (tmp_path / "written").stat().st_size == 2**20


def test_no_secret_is_in_its_environment(monkeypatch):
    """The child gets the variables that its caller names, and none of the caller's own."""
    monkeypatch.setenv("DOORBUSTER_POSTGRES_PASSWORD", "secret")
    seen = call(HERE + "surroundings", None, BOUNDS, {"DOORBUSTER_STATE_DIR": "/srv"})
    assert "DOORBUSTER_POSTGRES_PASSWORD" not in seen
    assert seen["DOORBUSTER_STATE_DIR"] == "/srv"


def test_nothing_survives_the_call(tmp_path):
    """A child that does not return is killed with every process that it started."""
    told = tmp_path / "processes"
    bounds = Bounds(memory_bytes=2**28, cpu_s=5, wall_s=3, file_bytes=100)
    with pytest.raises(BoundsExceededError):
        call(HERE + "start_child_that_waits", str(told), bounds)
    processes = [int(number) for number in told.read_text().split()]
    assert until(lambda: not any(map(_runs, processes)))


def test_a_child_ends_with_its_parent(tmp_path):
    """A child does not outlive the process that called it, even when that is killed."""
    told = tmp_path / "processes"
    program = (
        "from common.bounded import Bounds, call\n"
        "bounds = Bounds(memory_bytes=2**28, cpu_s=5, wall_s=60, file_bytes=100)\n"
        f"call('{HERE}start_child_that_waits', {str(told)!r}, bounds)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], cwd=Path(__file__).parents[2])
    try:
        assert until(lambda: told.is_file() and len(told.read_text().split()) == 2)
    finally:
        parent.kill()
        parent.wait()
    child, grandchild = map(int, told.read_text().split())
    try:
        assert until(lambda: not _runs(child))
    finally:
        os.kill(grandchild, 9)  # it is not the parser's habit to start any


def _runs(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except FileNotFoundError:
        return False
