"""The signals that end a command in a container: `docker compose exec` passes none on."""

import signal
from pathlib import Path

import pytest

from runtime.compose import execution
from runtime.compose.settings import Project
from runtime.settings import REPOSITORY, load
from runtime.state import State
from tests.runtime.conftest import Docker

# The command gets the signal as soon as it runs and ends, before anybody was told inside.
ENDED_FROM_OUTSIDE = """
case "$*" in
  *"kill -"*) sleep 0.2; echo "$*" >"$TOLD" ;;
  *" rm -f "*) [ -e "$TOLD" ] && echo after >"$TOLD.removed" ;;
  *) kill -$SIGNAL $PPID; exit 7 ;;
esac
exit 0
"""


@pytest.mark.parametrize(
    ("sent", "told"), [("INT", "kill -INT"), ("TERM", "kill -TERM"), ("HUP", "kill -TERM")]
)
def test_what_ends_a_command_is_told_inside(
    docker: Docker, tmp_path: Path, sent: str, told: str
) -> None:
    docker.answers(ENDED_FROM_OUTSIDE)
    docker.setenv("TOLD", str(tmp_path / "told"))
    docker.setenv("SIGNAL", sent)
    state = State(tmp_path / "state")
    made = Project(load({"DOORBUSTER_STATE_DIR": str(state.folder)}, REPOSITORY), state)
    # Tests may be started by nohup, which takes the signal from those that begin with it.
    usual = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        assert execution.run(made, ["doorbuster"]) == 7
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, usual)
    assert told in (tmp_path / "told").read_text()
    assert (tmp_path / "told.removed").exists()  # the note of its id, not before it was read
