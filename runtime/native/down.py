"""The commands `make down` and `make reset`, which end every process of the appliance.

They stop the services in order. Then they end processes that a killed supervisor has left running.
"""

import contextlib
import os
import sys
from collections.abc import Callable

import click

from runtime.native.supervision import Supervisor, end, left_over
from runtime.progress import Progress
from runtime.settings import Settings
from runtime.state import State, StateError


def down(settings: Settings, progress: Progress) -> None:
    """Stop all processes of the appliance; do nothing if none runs."""
    state = State(settings.state_dir)
    with state.locked(), progress.step("Doorbuster") as step:
        step.detail = "is down" if stop(state) else "was down already"


def stop(state: State) -> bool:
    """Stop every process of this state folder; return True if a process was running."""
    supervisor = Supervisor(state)
    ran = supervisor.is_running() or supervisor.is_stopping()
    if ran:
        supervisor.shut_down()
    rest = left_over(state)
    end(rest)
    with contextlib.suppress(OSError):  # works on a read-only file system, too
        supervisor.remove_files()
    return ran or bool(rest)


def reset(
    settings: Settings,
    progress: Progress,
    stop_all: Callable[[Settings, Progress], None] = down,
    elsewhere: Callable[[], None] = lambda: None,
) -> None:
    """Stop everything and empty the state folder, but keep the results.

    `stop_all` stops the appliance, and `elsewhere` removes data outside the folder. Without
    FORCE=1, the command asks for confirmation, which needs a terminal.
    """
    state = State(settings.state_dir)
    if not state.folder.exists():
        progress.say(f"Nothing to reset: there is no {state.folder}.")
        return
    if os.environ.get("FORCE") != "1":
        if not sys.stdin.isatty():
            raise StateError(
                f"make reset empties {state.folder} (database, logs, secrets), and cannot ask for "
                "confirmation without a terminal; fix: to confirm, make reset FORCE=1"
            )
        progress.say(
            f"This empties {state.folder} (database, logs, secrets). The results are kept."
        )
        if not click.confirm("Continue?"):
            progress.say("Nothing was changed.")
            return
    stop_all(settings, progress)
    elsewhere()
    with state.locked(), progress.step("State folder") as step:
        state.empty(keep=settings.results_dir)
        step.detail = f"{state.folder} is empty"
