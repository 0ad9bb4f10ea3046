"""`make status`: the running services, where they run and since when."""

from rich.table import Table

from common import cpus
from runtime.native import services
from runtime.native.supervision import Supervisor
from runtime.progress import Progress
from runtime.settings import Settings
from runtime.state import State


def status(settings: Settings, progress: Progress) -> None:
    """Print one line per service."""
    state = State(settings.state_dir)
    supervisor = Supervisor(state)
    if not supervisor.is_running():
        progress.say(f"Doorbuster is down. {supervisor.why_down()}")
        return
    states = supervisor.states()
    table = Table(box=None, padding=(0, 3, 0, 0))
    for heading in ("service", "state", "health", "port", "CPUs", "process", "up"):
        table.add_column(heading)
    for service in services.table(settings, state):
        now = states.get(service.name)
        if now is None:  # an older version started it
            table.add_row(service.name, "unknown", "make up starts it", _shown(service.port))
            continue
        health = (service.refusal() or "healthy") if now.runs else "–"
        table.add_row(
            service.name,
            now.state.lower(),
            health,
            _shown(service.port),
            cpus.written(service.cpus),
            str(now.pid) if now.runs else "–",
            duration(now.up_s) if now.runs else "–",
        )
    progress.console.print(table)


def _shown(port: int | None) -> str:
    return str(port) if port is not None else "–"


def duration(seconds: float) -> str:
    """Return minutes and seconds, or hours and minutes."""
    minutes, rest_s = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest_s:02} s"
