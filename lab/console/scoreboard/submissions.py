"""The rows of the class's scoreboard, and the policies that people submit to it from the console.

A submission is a launch. Its command `doorbuster policy score` checks the file and simulates the
policy next to the three known policies. If the console has accounts, the account's name is the
author of the row, so people can replace only their own rows.
"""

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from common.http_api import CallError
from gateway.policies import FILE_SUFFIX, PolicyError, stem
from gateway.students import files, naming
from gateway.students.calls import PolicyFile
from lab.console.launches import queue, workers
from lab.console.launches.submission import enqueued, of_spec
from lab.console.models import Launch, State
from lab.console.race.forms import fields_of
from lab.console.results import result_list
from lab.console.results.origins import SCORE_COMMAND, submissions_of
from lab.console.results.result_list import ResultEntry
from lab.console.site import permissions
from lab.console.site.rates import ActionLimit, BusyError
from lab.console.site.settings import LAB
from lab.students import scoreboard
from lab.students.scoreboard import FOLDER, SCORES, Board

PATTERN: Final = "^[a-z][a-z0-9_]{0,39}$"
NAMES: Final = "1 to 40 lower-case letters, digits and _, beginning with a letter"
MOST_SHOWN: Final = 10
"""The maximum number of submissions that a page lists."""
_PATIENCE_S: Final = 5.0
"""The maximum time, in real seconds, for which a submitted file waits while the console reads other
files."""

_ACTION_LIMIT = ActionLimit(2)
"""The maximum number of files that are read at the same time. Each file takes a tenth of a CPU
second."""


# ---- the board -----------------------------------------------------------------------------------


def shown() -> tuple[Board, ResultEntry | None]:
    """Return this lab's board and None. If this board has no rows, return the reference board and
    its result."""
    board = Board.read(LAB.results_dir / FOLDER)
    if not board.rows:
        for one in result_list.references():
            if one.file(SCORES):
                return Board.shown(one.path / SCORES), one
    return board, None


@dataclass(frozen=True, slots=True)
class Behind:
    """The addresses of the pages about the runs of a row. An address is empty if the page would
    have nothing to show."""

    result: str
    race: str
    why: str
    """The address of a list of attempts, with links to the reason for each decision."""


def behind(name: str, policy: str) -> Behind | None:
    """Return the addresses of pages about a policy's runs; None if the result is deleted."""
    result = result_list.entry_of(name) if name else None
    if result is None:
        return None
    runs = [(one, run) for one, run in result.runs if one.policy == policy and run.is_whole]
    address = reverse("result", args=[name])
    race, why = "", ""
    if fields_of(result):
        race = f"{reverse('race')}?{urlencode({'result': name})}"
    if runs:
        busiest, _ = max(runs, key=lambda one: (one[0].rho or 0.0, -one[0].seed))
        why = f"{reverse('attempts', args=[name])}?{urlencode({'run': busiest.folder})}"
    return Behind(address, race, why)


# ---- submissions ---------------------------------------------------------------------------------


def submit(request: HttpRequest, name: str, text: str) -> Launch:
    """Put a policy into the queue and return its launch.

    If the person's earlier submission with this name has not ended, it is cancelled. Raises
    CallError if the policy is not valid or the console is busy with other files, and AllowanceError
    or QueueError if the person cannot submit a policy now.
    """
    allowance = permissions.allowance_of(request)
    permissions.spend(request, "uploads_per_minute")
    file = PolicyFile(f"{name}{FILE_SUFFIX}", text)
    try:
        with _ACTION_LIMIT.turn(permissions.key_of(request), _PATIENCE_S):
            _read(file)
    except BusyError:
        raise CallError(
            "text: the console is reading other files; send the text again in a few seconds",
            "text",
            "one file at a time",
            status=429,
        ) from None
    launch = Launch(
        title=f"Scoreboard: {name}", engine="simulated", by=permissions.name_of(request)
    )
    path = workers.folder_of(launch) / file.name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    launch.arguments = [*SCORE_COMMAND, *(["--by", launch.by] if launch.by else []), str(path)]
    earlier = [one for one in submissions_of(launch.by) if one.title == launch.title]
    try:
        launch.expected_s = of_spec(scoreboard.with_known(path)).allowed_real_s(allowance)
        enqueued(request, launch)
    except Exception:
        shutil.rmtree(path.parent)  # no launch uses the file
        raise
    for one in earlier:
        if not one.has_ended:
            queue.cancel(one)
    return launch


def _read(file: PolicyFile) -> None:
    """Raise CallError if this text is not a valid policy. The error has the reasons."""
    try:
        files.check_form(file)
        if found := files.impurities(file):
            raise CallError(f"text: {'; '.join(found)}", "text", "a pure policy")
        naming.sheet_of_file(file)
    except PolicyError as fault:
        words = fault.message.removeprefix(f"{file.name}: ")
        raise CallError(f"text: {words}", "text", fault.allowed) from None


@dataclass(frozen=True, slots=True)
class Submission:
    """A submission as the page shows it."""

    launch: Launch
    name: str
    place: int | None
    """The rank of the submission's row on the scoreboard."""
    row: Mapping[str, Any] | None
    """The submission's row; None if it does not exist yet, or if a later submission with the same
    name has replaced it."""
    behind: Behind | None
    lines: tuple[int, ...]
    """The line numbers in the error message of a failed launch."""


def listed(request: HttpRequest) -> list[Submission]:
    """Return this person's latest submissions, with the newest first."""
    board, _ = shown()
    rows = {
        row.get("result", ""): (place, row) for place, row in board.ranked() if row.get("sha256")
    }
    found = []
    for launch in submissions_of(permissions.name_of(request))[:MOST_SHOWN]:
        is_done = launch.state == State.DONE
        place, row = rows.get(launch.result, (None, None)) if is_done else (None, None)
        name = stem(launch.arguments[-1])
        found.append(
            Submission(
                launch,
                name,
                place,
                row,
                behind(launch.result, name) if is_done else None,
                tuple(sorted({int(one) for one in re.findall(r"\bline (\d+)", launch.reason)})),
            )
        )
    return found
