"""Run students' own tests with pytest in a confined process, because test files can contain any
code.

The process can read the interpreter, the installed packages, the system's libraries and time zones,
some of the project's packages, and the folder of the tests. It can write only to a temporary
folder. Control characters in its output are replaced, so a test cannot control the terminal.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gateway.students import confinement

_ROOT: Final = Path(__file__).resolve().parents[2]
_PACKAGES: Final = ("common", "gateway", "loadgen", "simulator")
"""The project's packages that tests may import."""
_SYSTEM: Final = (
    *("/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64"),
    *("/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo"),
    *("/dev/zero", "/dev/urandom"),
)
PROGRAM: Final = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from lab.students.own_tests import _become; _become(sys.argv[2:])"
)
UNCONFINED: Final = 70
"""The exit status if the machine cannot confine the process; in this case, no test runs."""
_LOOKED_AFTER_S: Final = 0.2
_MOST_SHOWN: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that all tests of one call share."""

    wall_s: float = 300.0
    """The limit for the duration, in real seconds."""
    cpu_s: int = 120
    """The limit for the CPU time, in seconds."""
    memory_bytes: int = 1024 * 1024 * 1024
    """The maximum size of the address space, in bytes."""
    file_bytes: int = 8 * 1024 * 1024
    """The maximum size of a file, in bytes."""
    written_bytes: int = 64 * 1024 * 1024
    """The maximum size of all files together, in bytes."""
    files: int = 5_000


def run(
    arguments: Sequence[str],
    folder: Path,
    limits: Limits = Limits(),
    show: Callable[[str], None] = lambda text: print(text, end="", flush=True),
) -> int:
    """Run pytest with these arguments and return its exit status.

    If the arguments do not name a test file, pytest runs the tests in `folder`. `show` receives the
    output and, if the process was stopped, a line with the reason.
    """
    with tempfile.TemporaryDirectory(prefix="doorbuster-own-tests-") as written:
        chosen = [*arguments]
        if not any(Path(one.partition("::")[0]).exists() for one in arguments):
            chosen.append(str(folder))
        own = str(folder.resolve())
        options = ["--rootdir", own, "--confcutdir", own, "-c", "/dev/null", "--color=no"]
        options += ["-p", "no:cacheprovider", "--basetemp", str(Path(written) / "tests")]
        values = (limits.cpu_s, limits.memory_bytes, limits.file_bytes, os.getpid())
        order = [*map(str, values), written, own, "--", *options, *chosen]
        process = subprocess.Popen(
            [sys.executable, "-P", "-s", "-B", "-c", PROGRAM, str(_ROOT), *order],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=_environment(written),
            start_new_session=True,
        )
        try:
            why = _watched(process, Path(written), limits, show)
        finally:
            process.kill()
            status = process.wait()
            assert process.stdout is not None
            process.stdout.close()
    why = why or _reason(status, limits)
    if why:
        show(f"\nThe tests were ended: {why}.\n")
    return status if status >= 0 else 1


def _environment(written: str) -> dict[str, str]:
    """Return the environment for the tests, without variables that can contain passwords."""
    return {
        "HOME": written,
        "TMPDIR": written,
        "LC_ALL": "C.UTF-8",
        "COLUMNS": os.environ.get("COLUMNS", "100"),
        "OPENBLAS_NUM_THREADS": "1",  # the process must not start threads
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }


def _watched(
    process: "subprocess.Popen[bytes]", written: Path, limits: Limits, show: Callable[[str], None]
) -> str:
    assert process.stdout is not None
    output = process.stdout.fileno()
    ends_s = time.monotonic() + limits.wall_s
    shown, looked_s = 0, time.monotonic()
    line = select.poll()
    line.register(output, select.POLLIN | select.POLLHUP)
    while True:
        if time.monotonic() >= ends_s:
            return f"they took more than {limits.wall_s:g} s; look for a loop that does not end"
        if time.monotonic() >= looked_s + _LOOKED_AFTER_S:
            looked_s = time.monotonic()
            if _is_too_much(written, limits):
                return (
                    f"they wrote more than {limits.written_bytes // 2**20} MiB or "
                    f"{limits.files:,} files"
                )
        if not line.poll(_LOOKED_AFTER_S * 1000):
            if process.poll() is not None:
                return ""
            continue
        content = os.read(output, 65_536)
        if not content:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, ends_s - time.monotonic()))
            return ""
        text = content.decode(errors="replace")[: max(0, _MOST_SHOWN - shown)]
        shown += len(content)
        show("".join(c if c.isprintable() or c in "\n\t" else "�" for c in text))
        if shown >= _MOST_SHOWN:
            return f"they printed more than {_MOST_SHOWN:,} characters"


def _is_too_much(written: Path, limits: Limits) -> bool:
    size_bytes, files, folders = 0, 0, [str(written)]
    while folders:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                files += 1
                if files > limits.files:
                    return True
                with contextlib.suppress(OSError):
                    size_bytes += entry.stat(follow_symlinks=False).st_size
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
    return size_bytes > limits.written_bytes


def _reason(status: int, limits: Limits) -> str:
    if status == -signal.SIGXCPU or status == -signal.SIGKILL:
        return (
            f"they used more than {limits.cpu_s} s of CPU, or the machine did not have enough "
            "memory"
        )
    if status < 0:
        return f"the signal {signal.Signals(-status).name} ended their process"
    return ""


# ---- in the process ------------------------------------------------------------------------------


def _become(order: Sequence[str]) -> None:
    """Give up all rights that the tests do not need, then run pytest in this process."""
    import pytest

    cpu_s, memory_bytes, file_bytes, parent = map(int, order[:4])
    written, folder, _, *arguments = order[4:]
    packages = [str(_ROOT / name) for name in _PACKAGES]
    interpreter = [sys.prefix, sys.base_prefix, os.path.realpath(sys.prefix)]
    holding = confinement.confine_tests(
        cpu_s=cpu_s,
        memory_bytes=memory_bytes,
        file_bytes=file_bytes,
        parent=parent,
        readable=(*interpreter, *packages, *_SYSTEM, folder),
        writable=(written, "/dev/null"),
    )
    lacks = [
        confinement.OF_TESTS[name] for name in confinement.NEEDED_BY_TESTS if name not in holding
    ]
    if lacks:
        print(
            "No test was run, because this machine cannot confine the tests. Tests need a process "
            f"that {' and '.join(lacks)}. Linux 5.13 and newer on x86-64 or arm64 can do this."
        )
        sys.stdout.flush()
        os._exit(UNCONFINED)
    sys.exit(pytest.main(arguments))
