"""The choice of the runtime: containers, or processes of this machine."""

import os
import shutil
from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

from runtime.compose import engine
from runtime.compose.settings import Project
from runtime.native.supervision import Supervisor
from runtime.settings import Settings
from runtime.state import State

VARIABLE = "RUNTIME"
Runtime = Literal["native", "docker"]
RUNTIMES: tuple[Runtime, ...] = get_args(Runtime)


class Choice(NamedTuple):
    """A runtime, and the reason why it is used."""

    runtime: Runtime
    why: str


class RuntimeChoiceError(RuntimeError):
    """The error for an unknown RUNTIME, or for one that differs from the running appliance's. The
    message has the fix.
    """


def asked(environ: Mapping[str, str] = os.environ) -> Runtime | None:
    """Return the value of RUNTIME, or None if it is not set. Raises RuntimeChoiceError if the value
    is unknown.
    """
    text = environ.get(VARIABLE, "")
    found = next((runtime for runtime in RUNTIMES if runtime == text), None)
    if text and found is None:
        raise RuntimeChoiceError(f"RUNTIME={text} is unknown; allowed: {' and '.join(RUNTIMES)}")
    return found


def running(settings: Settings) -> Runtime | None:
    """Return the runtime of the running appliance, or None."""
    state = State(settings.state_dir)
    if Supervisor(state).is_running():
        return "native"
    if engine.problem() is None:
        there = engine.containers(Project(settings, state).name)
        if any(one.runs for one in there):
            return "docker"
    return None


def choose(settings: Settings) -> Choice:
    """Return the runtime that `make up` starts, and the reason.

    RUNTIME decides, if it is set; otherwise, a running appliance keeps its runtime. If nothing runs
    yet, the appliance uses containers if a Docker engine answers, otherwise processes. Raises
    RuntimeChoiceError if the appliance already runs in a runtime other than RUNTIME.
    """
    wanted, now = _asked_and_running(settings, fix="make down first")
    if wanted is not None:
        return Choice(wanted, f"{VARIABLE}={wanted}")
    if now is not None:
        return Choice(now, "the appliance already runs there")
    if engine.problem() is None:
        return Choice("docker", "a Docker engine answers")
    return Choice("native", "no Docker engine can be used")


def why_native() -> str | None:
    """Return why `choose` does not use the installed Docker. Return None if Docker can be used or
    is not installed, or if RUNTIME is set.
    """
    return engine.problem() if asked() is None and shutil.which("docker") else None


def to_use(settings: Settings) -> Runtime:
    """Return the runtime of the appliance, for commands that show, stop or measure it. Raises
    RuntimeChoiceError if RUNTIME names another runtime than the running appliance's.
    """
    wanted, now = _asked_and_running(settings, fix="omit RUNTIME=")
    return wanted or now or "native"


def _asked_and_running(settings: Settings, *, fix: str) -> tuple[Runtime | None, Runtime | None]:
    """Return the runtime that RUNTIME requests and the runtime of the running appliance; each is
    None if there is none. Raises RuntimeChoiceError with this fix if they are different runtimes.
    """
    wanted, now = asked(), running(settings)
    if now is not None and wanted not in (None, now):
        how = "in containers" if now == "docker" else "natively"
        raise RuntimeChoiceError(f"RUNTIME={wanted}: the appliance runs {how}; fix: {fix}")
    return wanted, now
