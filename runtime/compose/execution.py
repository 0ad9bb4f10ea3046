"""The execution of commands such as `doorbuster` in the container of the console's workers.

In this container, commands share the machine's lock, the process namespace and the network with the
parts that they measure. When the caller receives SIGINT or SIGTERM, the command receives the same
signal. When the caller receives SIGHUP, the command receives SIGTERM.
"""

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Sequence
from types import FrameType

from common import cpus
from runtime.compose import engine
from runtime.compose.services import WORKER
from runtime.compose.settings import Project

_PASSED_ON = {
    signal.SIGINT: "INT",
    signal.SIGTERM: "TERM",
    # A closed terminal counts as TERM, so that commands end what they have started.
    signal.SIGHUP: "TERM",
}
_HANDED_ON = ("COLUMNS", "NO_COLOR", "FORCE_COLOR")
# The shell writes its process id to a file and then becomes the command. Signals need this id,
# because `docker compose exec` passes no signals.
_NOTED = 'echo $$ >"$0"; exec "$@"'


def runs(project: Project) -> bool:
    """Return whether the commands' container is running."""
    return any(one.service == WORKER and one.runs for one in engine.containers(project.name))


def run(project: Project, command: Sequence[str]) -> int:
    """Run `command` on the CPUs that the shop does not use; return its exit code."""
    mark = f"/tmp/command-{secrets.token_hex(8)}"
    wrapped = ["python", "-m", "common.pinned", cpus.written(project.settings.other_cpus), "--"]
    options = [] if sys.stdin.isatty() and sys.stdout.isatty() else ["-T"]
    for name in _HANDED_ON:
        if name in os.environ:
            options += ["--env", f"{name}={os.environ[name]}"]
    inside = ["bash", "-c", _NOTED, mark, *wrapped, *command]
    telling: list[subprocess.Popen[bytes]] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        say = f'kill -{_PASSED_ON[signal.Signals(number)]} "$(cat {mark})"'
        telling.append(
            subprocess.Popen(
                project.command("exec", "-T", WORKER, "bash", "-c", say),
                env=project.environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        )

    before = {
        one: signal.signal(one, pass_on)
        for one in _PASSED_ON
        # SIGHUP stays ignored under nohup. SIGINT does not, although shells ignore it in background
        # processes.
        if one != signal.SIGHUP or signal.getsignal(one) != signal.SIG_IGN
    }
    try:
        # Without a terminal, this process gets a separate session, so that only the command gets
        # Ctrl-C.
        process = subprocess.Popen(
            project.command("exec", *options, WORKER, *inside),
            env=project.environment(),
            start_new_session=bool(options) and "-T" in options,
        )
        return process.wait()
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
        for teller in telling:  # it reads the mark
            teller.wait()
        subprocess.run(
            project.command("exec", "-T", WORKER, "rm", "-f", mark),
            env=project.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
