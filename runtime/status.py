"""The command `make status`, which shows where the services run, and since when."""

from typing import Any

from rich.table import Table

from common import cpus
from runtime.choice import Runtime
from runtime.compose import engine
from runtime.compose.engine import Container
from runtime.compose.settings import Project
from runtime.native import services
from runtime.native.supervision import Supervisor
from runtime.progress import Progress
from runtime.settings import Settings
from runtime.state import State

_HEADINGS = {"pid": "process", "up_s": "up", "cpus": "CPUs"}


def show(settings: Settings, runtime: Runtime, progress: Progress) -> None:
    found = rows(settings, runtime)
    if not found:
        is_docker = runtime == "docker"
        why = "" if is_docker else Supervisor(State(settings.state_dir)).why_down()
        progress.say(f"Doorbuster is down. {why or '`make up` starts it.'}")
        return
    shown = Table(box=None, padding=(0, 3, 0, 0))
    for key in found[0]:
        is_container = runtime == "docker" and key == "service"
        shown.add_column("container" if is_container else _HEADINGS.get(key, key))
    for row in found:
        shown.add_row(*(_shown(key, value) for key, value in row.items()))
    progress.console.print(shown)


def rows(settings: Settings, runtime: Runtime) -> list[dict[str, Any]]:
    """Return a row for each service or container, with None for unknown values. If the appliance is
    down, there are no rows.
    """
    return _containers(settings) if runtime == "docker" else _processes(settings)


def _containers(settings: Settings) -> list[dict[str, Any]]:
    there = engine.containers(Project(settings, State(settings.state_dir)).name)
    return [
        {
            "service": one.service,
            "state": _state(one),
            "health": (one.health or None) if one.runs else None,
            "cpus": one.cpus,
            "restarts": one.restarts,
            "up_s": one.up_s if one.runs else None,
        }
        for one in sorted(there, key=lambda each: each.service)
    ]


def _state(one: Container) -> str:
    if one.state != "exited":
        return one.state
    return "done" if one.exit_code == 0 else f"ended with {one.exit_code}"


def _processes(settings: Settings) -> list[dict[str, Any]]:
    state = State(settings.state_dir)
    supervisor = Supervisor(state)
    if not supervisor.is_running():
        return []
    states = supervisor.states()
    found = []
    for service in services.table(settings, state):
        now = states.get(service.name)
        runs = now is not None and now.runs
        health = (service.refusal() or "healthy") if runs else None
        found.append(
            {
                "service": service.name,
                # An appliance that an older version started does not know the service.
                "state": "unknown" if now is None else now.state.lower(),
                "health": "make up starts it" if now is None else health,
                "port": service.port,
                "cpus": cpus.written(service.cpus),
                "pid": now.pid if now and runs else None,
                "up_s": now.up_s if now and runs else None,
            }
        )
    return found


def _shown(key: str, value: Any) -> str:
    if value is None:
        return "–"
    return _duration(value) if key == "up_s" else str(value)


def _duration(seconds: float) -> str:
    minutes, rest_s = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest_s:02} s"
