"""The class's scoreboard, which compares students' own policies with three known policies."""

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode

from lab.console.race.forms import fields_of
from lab.console.results import result_list
from lab.console.results.result_list import ResultEntry
from lab.console.site import own_policies
from lab.console.site.permissions import readers
from lab.console.site.settings import LAB
from lab.students.scoreboard import FOLDER, SCORES, Board


@readers.get
def scoreboard(request: HttpRequest) -> HttpResponse:
    """Show this lab's board, with links to the runs of each row. If this lab has no board, show the
    reference board."""
    board, released = shown()
    rows = [row for _, row in board.ranked()]
    context = {
        "reference": released,
        "table": board.table() if board.rows else None,
        "rows": [(row, behind(row.get("result", ""), row["policy"])) for row in rows],
        "own": own_policies.own(),
    }
    return render(request, "console/scoreboard.html", context)


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
