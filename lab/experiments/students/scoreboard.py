"""The class's scoreboard: students' policies and three known ones on the same customers.

Owns: which rows there are, `results/scoreboard/`, the table. Must not know: how efficiency is
reckoned (`leaderboard.board`), how a run is made.

    results/scoreboard/scores.json   a row per policy, the newest of each
    results/scoreboard/scores.md     the table

A row is kept until its policy is played again; --fresh empties the board. Rows of other conditions
(another scoreboard.toml) cannot stand beside these and go.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from gateway.policies.sheet import PolicyError
from gateway.students import naming
from lab.experiments.errors import ExperimentError, SpecError
from lab.experiments.intervals import Estimate
from lab.experiments.spec import Spec, changed, read_spec
from lab.experiments.students.validator import Finding, check
from lab.experiments.table import Table

FOLDER: Final = "scoreboard"
KNOWN: Final = "the project"
"""Whose the policies are that the others are held against."""


def play(paths: Sequence[Path], *, fresh: bool, processes: int | None) -> None:
    """Check these, run the valid ones, keep and show the board; raises ExperimentError."""
    from lab.experiments.terminal import console, show
    from runtime import settings

    folder = settings.load().results_dir / FOLDER
    board = Board.read(folder)
    if fresh:
        board.rows.clear()
    if not paths and not board.rows:
        raise SpecError("FILE: no policy in own/; allowed: what `make new-policy NAME=…` writes")
    valid = [path for path in paths if _is_valid(path, console.print)]
    if paths and not valid:
        raise ExperimentError("No policy is valid: nothing was played; make check-policy says why.")
    if valid:
        _play(board, valid, processes)
        board.write(folder)
    show(board.table())
    console.print(f"Kept in {folder / 'scores.md'}; on the console's page /scoreboard/")


def conditions() -> Spec:
    """What everybody is run under; its policies are the known ones."""
    path = Path(__file__).with_name("scoreboard.toml")
    return read_spec(path.read_text(encoding="utf-8"), str(path))


class Board:
    """The rows, by the policy's key."""

    def __init__(self, conditions: str, rows: dict[str, dict[str, Any]]) -> None:
        self.conditions = conditions
        self.rows = rows

    @classmethod
    def read(cls, folder: Path) -> "Board":
        """What is kept there; empty where nothing is, or under other conditions."""
        same = conditions().fingerprint
        try:
            kept = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
            if kept["conditions"] == same:
                board = cls(same, {row["policy"]: row for row in kept["rows"]})
                board.table()  # damaged rows show here
                return board
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass
        return cls(same, {})

    def write(self, folder: Path) -> None:
        """scores.json and scores.md, each whole or not at all."""
        from lab.experiments.results import write_json, write_text

        try:
            folder.mkdir(parents=True, exist_ok=True)
            rows = list(self.rows.values())
            write_json(folder / "scores.json", {"conditions": self.conditions, "rows": rows})
            write_text(folder / "scores.md", self.table().markdown())
        except OSError as fault:
            raise ExperimentError(f"{folder} cannot be written ({fault.strerror}).") from None

    def ranked(self) -> list[tuple[int, Mapping[str, Any]]]:
        """(place, row), the best first."""
        best_first = sorted(self.rows.values(), key=lambda row: -row["overall"]["mean"])
        return list(enumerate(best_first, start=1))

    @property
    def loads(self) -> list[str]:
        """The columns, the lightest first."""
        return sorted({rho for row in self.rows.values() for rho in row["estimated"]}, key=float)

    def table(self) -> Table:
        """The board for people."""
        loads = self.loads
        table = Table(
            "Scoreboard",
            ("Place", "Policy", "By", *(f"ρ = {rho}" for rho in loads), "All loads"),
            note="Revenue efficiency, estimated: mean of the repetitions ± half-width of the 95 % "
            "interval; 1 is the capacity bound. Everybody had the same customers. Intervals that "
            "overlap: no difference that these runs could show. * was given up in a run, FIFO "
            "decided from then on.",
        )
        for place, row in self.ranked():
            table.rows.append(
                (
                    str(place),
                    row["title"] + ("*" if row.get("fallen_back") else ""),
                    row["by"],
                    *(_text(row["estimated"].get(rho)) for rho in loads),
                    _text(row["overall"]),
                )
            )
        return table


def _play(board: Board, valid: Sequence[Path], processes: int | None) -> None:
    from lab.experiments.cells import read_cells
    from lab.experiments.leaderboard.board import as_json, rows_of
    from lab.experiments.simulated_comparison import compare_simulated

    spec = _spec(valid, [one for one in conditions().policy if one.key not in board.rows])
    folder = compare_simulated(spec, fresh=False, processes=processes, broker=None)
    cells = read_cells(folder)
    given_up = {
        cell.policy: summary["fallen_back"]["reason"]
        for cell in cells
        for summary in cell.summaries
        if summary.get("fallen_back")
    }
    for row in as_json(rows_of(cells)):
        key = row["policy"]
        choice = spec.choice(key)
        file = choice.file
        board.rows[key] = {
            **{name: row[name] for name in ("policy", "title", "overall", "estimated", "confirms")},
            "by": naming.sheet_of_file(file).source if file else KNOWN,
            "sha256": choice.sha256,
            "fallen_back": given_up.get(key),
            "played_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "result": folder.path.name,
        }


def _spec(valid: Sequence[Path], known: Sequence[Any]) -> Spec:
    policies = [{"name": str(path)} for path in valid]
    policies += [one.model_dump(mode="json", exclude_none=True) for one in known]
    names = ", ".join(path.stem for path in valid)
    return changed(conditions(), title=f"Scoreboard: {names}"[:200], policy=policies)


def _is_valid(path: Path, say: Callable[[str], None]) -> bool:
    failed: list[Finding] = []
    try:
        checked = check(path, lambda one: None if one.holds else failed.append(one))
    except PolicyError as fault:
        raise SpecError(f"FILE: {fault.message}; allowed: {fault.allowed}") from None
    for one in failed:
        say(f"{path} is left out: {one.check}: {one.says.splitlines()[0]}")
    return checked.is_valid


def _text(known: Mapping[str, Any] | None) -> str:
    if known is None:
        return "–"
    return Estimate(known["mean"], known["half_width"]).text(2)
