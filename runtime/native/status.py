"""The command `make status`, which shows each service's state, health, port, CPUs and uptime."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.table import Table

from common import cpus
from runtime.native import services
from runtime.native.supervision import Supervisor
from runtime.progress import Progress
from runtime.settings import Settings
from runtime.state import State


def show(settings: Settings, progress: Progress) -> None:
    found = rows(settings)
    if not found:
        why = Supervisor(State(settings.state_dir)).why_down()
        progress.say(f"Doorbuster is down. {why}")
        return
    headings = ("service", "state", "health", "port", "CPUs", "process", "up")
    progress.console.print(table(headings, found))


def table(headings: Sequence[str], found: Iterable[Mapping[str, Any]]) -> Table:
    """Return the rows as a table with a heading for each key; `up_s` is shown as a duration."""
    shown = Table(box=None, padding=(0, 3, 0, 0))
    for heading in headings:
        shown.add_column(heading)
    for row in found:
        shown.add_row(*(_shown(key, value) for key, value in row.items()))
    return shown


def _shown(key: str, value: Any) -> str:
    if value is None:
        return "–"
    return duration(value) if key == "up_s" else str(value)


def rows(settings: Settings) -> list[dict[str, Any]]:
    """Return the state of every service, with None for unknown values.

    The list is empty if Doorbuster is down.
    """
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


def duration(seconds: float) -> str:
    """Return the duration as minutes and seconds, or as hours and minutes."""
    minutes, rest_s = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest_s:02} s"
