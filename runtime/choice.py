"""Which runtime it is: containers or processes of this machine.

Owns: RUNTIME= and what is chosen without it. Must not know: how either starts anything.
"""

import os
import shutil
from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

from runtime import compose_engine
from runtime.compose_settings import Project
from runtime.settings import Settings
from runtime.state import State
from runtime.supervision import Supervisor

VARIABLE = "RUNTIME"
Runtime = Literal["native", "docker"]
RUNTIMES: tuple[str, ...] = get_args(Runtime)


class Choice(NamedTuple):
    """A runtime, and why it is this one."""

    runtime: Runtime
    why: str


class RuntimeChoiceError(RuntimeError):
    """RUNTIME= names none, or another than what runs; the message says the fix."""


def asked(environ: Mapping[str, str] = os.environ) -> Runtime | None:
    """What RUNTIME= says; None if nothing. Raises RuntimeChoiceError for another."""
    text = environ.get(VARIABLE, "")
    if not text:
        return None
    if text == "native":
        return "native"
    if text == "docker":
        return "docker"
    raise RuntimeChoiceError(f"RUNTIME={text} is unknown; allowed are {' and '.join(RUNTIMES)}")


def running(settings: Settings) -> Runtime | None:
    """The runtime this appliance runs in now; None if it does not run."""
    state = State(settings.state_dir)
    if Supervisor(state).is_running():
        return "native"
    if compose_engine.problem() is None:
        there = compose_engine.containers(Project(settings, state).name)
        if any(one.runs for one in there):
            return "docker"
    return None


def to_start(settings: Settings) -> Runtime:
    """What `make up` starts. Raises as `choose`."""
    return choose(settings).runtime


def choose(settings: Settings) -> Choice:
    """What `make up` starts: what is asked for, what runs, containers where they can be had.

    Raises RuntimeChoiceError when another runtime than the one asked for runs.
    """
    wanted, now = asked(), running(settings)
    if now is not None and wanted not in (None, now):
        raise RuntimeChoiceError(
            f"RUNTIME={wanted}: the appliance runs already, {_in(now)}; fix: make down first"
        )
    if wanted is not None:
        return Choice(wanted, f"{VARIABLE}={wanted}")
    if now is not None:
        return Choice(now, "it runs already")
    if compose_engine.problem() is None:
        return Choice("docker", "a Docker engine answers")
    return Choice("native", "no Docker engine can be used")


def why_native() -> str | None:
    """Why `to_start` passes over a Docker that is installed; None if nobody expects one."""
    return compose_engine.problem() if asked() is None and shutil.which("docker") else None


def to_use(settings: Settings) -> Runtime:
    """Where commands go that look at the appliance, stop it or measure it: where it runs.

    Raises RuntimeChoiceError when that is not what was asked for: they would find nothing.
    """
    wanted, now = asked(), running(settings)
    if now is not None and wanted not in (None, now):
        raise RuntimeChoiceError(
            f"RUNTIME={wanted}: the appliance runs {_in(now)}; fix: leave RUNTIME= out"
        )
    return wanted or now or "native"


def _in(runtime: Runtime) -> str:
    return "in containers" if runtime == "docker" else "natively"
