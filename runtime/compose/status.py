"""`make status` and `make logs` of containers."""

import os

from rich.table import Table

from runtime.compose import engine
from runtime.compose.engine import Container
from runtime.compose.settings import Project
from runtime.native import status
from runtime.progress import Progress


def show(project: Project, progress: Progress) -> None:
    """Print one line per container."""
    there = engine.containers(project.name)
    if not there:
        progress.say("Doorbuster is down. `make up` starts it.")
        return
    table = Table(box=None, padding=(0, 3, 0, 0))
    for heading in ("container", "state", "health", "CPUs", "restarts", "up"):
        table.add_column(heading)
    for one in sorted(there, key=lambda each: each.service):
        table.add_row(
            one.service,
            _state(one),
            (one.health or "–") if one.runs else "–",
            one.cpus,
            str(one.restarts),
            status.duration(one.up_s) if one.runs else "–",
        )
    progress.console.print(table)


def services(project: Project) -> list[str]:
    """Return the services that have a container, and therefore a log."""
    return sorted({one.service for one in engine.containers(project.name)})


def follow(project: Project, services: tuple[str, ...]) -> None:
    """Replace this process with `docker compose logs`; never return."""
    command = project.command("logs", "--follow", "--tail=20", *services)
    os.execvpe(command[0], command, project.environment())


def _state(one: Container) -> str:
    if one.state != "exited":
        return one.state
    return "done" if one.exit_code == 0 else f"ended with {one.exit_code}"
