"""The commands `make status` and `make logs` for an appliance in containers."""

import os
from typing import Any

from runtime.compose import engine
from runtime.compose.engine import Container
from runtime.compose.settings import Project
from runtime.native import status
from runtime.progress import Progress


def show(project: Project, progress: Progress) -> None:
    found = rows(project)
    if not found:
        progress.say("Doorbuster is down. `make up` starts it.")
        return
    headings = ("container", "state", "health", "CPUs", "restarts", "up")
    progress.console.print(status.table(headings, found))


def rows(project: Project) -> list[dict[str, Any]]:
    """Return the state of every container, with None for unknown values.

    The list is empty if Doorbuster is down.
    """
    return [
        {
            "service": one.service,
            "state": _state(one),
            "health": (one.health or None) if one.runs else None,
            "cpus": one.cpus,
            "restarts": one.restarts,
            "up_s": one.up_s if one.runs else None,
        }
        for one in sorted(engine.containers(project.name), key=lambda each: each.service)
    ]


def services(project: Project) -> list[str]:
    """Return the services with a container, and therefore with a log."""
    return sorted({one.service for one in engine.containers(project.name)})


def follow(project: Project, services: tuple[str, ...]) -> None:
    """Replace this process with `docker compose logs`; never return."""
    command = project.command("logs", "--follow", "--tail=20", *services)
    os.execvpe(command[0], command, project.environment())


def _state(one: Container) -> str:
    if one.state != "exited":
        return one.state
    return "done" if one.exit_code == 0 else f"ended with {one.exit_code}"
