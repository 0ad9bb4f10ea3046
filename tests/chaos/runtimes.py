"""The appliance under test, natively or in containers, with the calls that a case needs.

A kill is a SIGKILL from outside, like that of a kernel without memory. After `docker kill` the
engine would not start the container again.
"""

import json
import os
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from random import Random

import psutil
import psycopg
import pytest
import requests

from runtime.native.supervision import Supervisor, SupervisorError
from runtime.settings import REPOSITORY, Settings, load
from runtime.state import State
from tests.lab.console.conftest import Console
from tests.waiting import until

PATIENCE_S = 600.0

wait_for = partial(until, within_s=PATIENCE_S)


class Runtime(ABC):
    """One appliance that runs. Parts have the names of their services."""

    name: str

    def __init__(self, settings: Settings, environment: Mapping[str, str]) -> None:
        self._settings = settings
        self.shop_url = f"http://127.0.0.1:{settings.gateway_port}"
        self.console = Console(
            settings.lab_port, settings.state_dir, settings.results_dir, dict(environment)
        )

    @abstractmethod
    def kill(self, part: str) -> None:
        """Send SIGKILL to the part's main process; return when it has gone."""

    @abstractmethod
    def processes(self, part: str) -> list[psutil.Process]:
        """Return the part's main process and its descendants; none while it does not run."""

    @abstractmethod
    def cut(self) -> None:
        """End every process at once, as a power cut does; return when the appliance is up again."""

    def kill_any(self, part: str, rng: Random) -> bool:
        """Send SIGKILL to the part's main process or, equally often, to another of its processes.

        Return whether there was one.
        """
        found = self.processes(part)
        if not found:
            return False
        chosen = found[0] if rng.random() < 0.5 else rng.choice(found)
        with suppress(psutil.NoSuchProcess):
            chosen.kill()
        return True

    def stop_for(self, part: str, duration_s: float) -> bool:
        """Stop all of the part's processes, and continue them later; return whether
        there were any."""
        found = self.processes(part)
        for process in found:
            with suppress(psutil.NoSuchProcess):
                process.suspend()
        time.sleep(duration_s)
        for process in found:
            with suppress(psutil.NoSuchProcess):
                process.resume()
        return bool(found)

    def set_abandonment(self, abandonment: str) -> None:
        """Set the effect of leaving from now on, `ignore` or `cancel`; pages have no page work.

        The call has no effect on a part that is away.
        """
        settings = self._settings
        mode = "cancel" if abandonment == "cancel" else "watch"
        for port, wanted in (
            (settings.shop_controller_port, {"profile": "real", "sentry": mode}),
            (settings.gateway_admin_port, {"abandonment": abandonment}),
        ):
            url = f"http://127.0.0.1:{port}/settings"
            token = {"Authorization": f"Bearer {settings.inner_token}"}
            with suppress(requests.RequestException):
                answer = requests.put(url, json=wanted, headers=token, timeout=2)
                assert answer.status_code != 401, answer.text

    @abstractmethod
    def began_again(self, part: str) -> bool:
        """Return whether the part runs again since it was killed."""

    @abstractmethod
    def without(self, part: str) -> AbstractContextManager[None]:
        """Stop the part until the block ends."""

    @abstractmethod
    def load_generators(self) -> int:
        """Return the number of processes that send an experiment's load."""

    @abstractmethod
    def last_words(self, part: str) -> str:
        """Return the end of the part's log."""

    def rows(self, query: str) -> list[tuple[str, ...]]:
        """Return the answer of the shop's database, as text."""
        settings = self._settings
        with psycopg.connect(
            host="127.0.0.1",
            port=settings.postgres_port,
            user=settings.postgres_user,
            password=settings.postgres_password,
            dbname=settings.postgres_db,
        ) as connection:
            return [tuple(map(str, row)) for row in connection.execute(query.encode())]


class Native(Runtime):
    """The appliance under supervisord, on separate ports; `environment` is that of a
    running one."""

    name = "native"

    def __init__(self, environment: Mapping[str, str]) -> None:
        settings = load(environment)
        super().__init__(settings, environment)
        self._state = State(settings.state_dir)
        self._supervisor = Supervisor(self._state)
        self._killed: dict[str, int] = {}

    def kill(self, part: str) -> None:
        process = psutil.Process(self._supervisor.states()[part].pid)
        self._killed[part] = process.pid
        process.kill()
        process.wait(PATIENCE_S)

    def began_again(self, part: str) -> bool:
        now = self._supervisor.states()[part]
        return now.state == "RUNNING" and now.pid != self._killed[part]

    def processes(self, part: str) -> list[psutil.Process]:
        try:
            return _with_children(self._supervisor.states()[part].pid)
        except SupervisorError:
            return []

    def cut(self) -> None:
        supervisor = self._supervisor.recorded_pid()
        assert supervisor is not None
        everything = _with_children(supervisor)
        for process in everything:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(everything, PATIENCE_S)
        _said(self.console.environment, sys.executable, "-m", "doorbuster", "up")

    @contextmanager
    def without(self, part: str) -> Iterator[None]:
        self._supervisor.stop_service(part)
        try:
            yield
        finally:
            self._supervisor.start_service(part)

    def load_generators(self) -> int:
        found = (process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"]))
        return sum(self.shop_url in words and "loadgen" in " ".join(words) for words in found)

    def last_words(self, part: str) -> str:
        log = self._state.log(part)
        return log.read_text(errors="replace")[-3000:] if log.exists() else "(no log)"


class Docker(Runtime):
    """The containers of this repository, already up (`make up RUNTIME=docker`)."""

    name = "docker"

    def __init__(self) -> None:
        super().__init__(load(own_environment()), own_environment())
        self._environment = {**own_environment(), "RUNTIME": "docker"}
        self._killed: dict[str, str] = {}
        if os.geteuid() != 0:
            pytest.fail("only root may kill a container's process from outside; fix: be root")

    def kill(self, part: str) -> None:
        process, began = self._state_of(part)
        self._killed[part] = began
        os.kill(process, signal.SIGKILL)
        wait_for(lambda: not psutil.pid_exists(process), "its end")

    def processes(self, part: str) -> list[psutil.Process]:
        return _with_children(self._state_of(part)[0])

    def cut(self) -> None:
        parts = self._compose("ps", "--services").split()
        for process in [one for part in parts for one in self.processes(part)]:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self._compose("up", "--detach", "--wait")

    def began_again(self, part: str) -> bool:
        process, began = self._state_of(part)
        return process > 0 and began != self._killed[part]

    @contextmanager
    def without(self, part: str) -> Iterator[None]:
        self._compose("stop", part)
        try:
            yield
        finally:
            self._compose("start", part)

    def load_generators(self) -> int:
        return self._compose("top", "lab-worker").count("loadgen")

    def last_words(self, part: str) -> str:
        return self._compose("logs", "--tail", "40", part)

    def _state_of(self, part: str) -> tuple[int, str]:
        """Return the part's main process as this machine sees it, 0 for none, and its
        start time."""
        [container] = self._compose("ps", "--all", "--quiet", part).split()
        asked = ("docker", "inspect", "--format", "{{json .State}}", container)
        state = json.loads(_said(self._environment, *asked))
        return int(state["Pid"]), str(state["StartedAt"])

    def _compose(self, *arguments: str) -> str:
        return _said(self._environment, sys.executable, "-m", "doorbuster", "compose", *arguments)


def _with_children(pid: int) -> list[psutil.Process]:
    """Return the process and its descendants; nothing if there is none."""
    try:
        process = psutil.Process(pid) if pid else None
        return [process, *process.children(recursive=True)] if process else []
    except psutil.NoSuchProcess:
        return []


def own_environment() -> dict[str, str]:
    """Return the environment that `make` would see, without the settings of these tests."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("DOORBUSTER_", "DJANGO_"))
    }


def _said(environment: Mapping[str, str], *command: str) -> str:
    done = subprocess.run(
        command,
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
    return done.stdout
