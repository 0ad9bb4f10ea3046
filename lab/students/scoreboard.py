"""The class's scoreboard, which compares students' policies with the known policies: SQ,
8Q-LIFO-Pri and DOOR-LIFO. All policies have the same customers.

    results/scoreboard/scores.json   the newest row for each policy and author
    results/scoreboard/scores.md     the table
    results/scoreboard/lock          locked while a process writes

A row remains until its author runs the policy again. With --fresh, the new rows replace all older
rows. Scores that are not comparable with new rows are moved to another file, with a
message.
"""

import contextlib
import json
import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from common import locks
from gateway.policies import PolicyError
from gateway.students import naming
from lab.errors import ExperimentError, SpecError
from lab.intervals import Estimate, paired
from lab.machine import description as machine
from lab.report.drawing.table import Table
from lab.results.comparison import ComparisonResult
from lab.results.result import is_imported
from lab.spec.experiment import Spec, changed, read_spec
from lab.students.validator import Finding, check

FOLDER: Final = "scoreboard"
SCORES: Final = "scores.json"
KNOWN: Final = "the project"
"""The name that the board shows as the author of the known policies."""
_OF_BOARD: Final = (
    "policy",
    "title",
    "overall",
    "estimated",
    "confirms",
    "expected",
    "repetitions",
)
"""The fields that the board copies from rows of the leaderboard."""
_FAR: Final = 4.0
"""The largest shortfall of confirms that chance can explain, in standard deviations. The standard
deviation is the square root of the expected number of confirms.
"""


def play(
    paths: Sequence[Path],
    *,
    fresh: bool,
    processes: int | None,
    by: str | None = None,
    with_known: bool = False,
) -> "Board":
    """Check these policies, run the valid policies, and update, show and return the board. Without
    `paths`, only show the board; with `fresh`, remove all its rows.

    `by` replaces the author that each file names. With `with_known`, the known policies run again,
    so that the result can be shown as a race. Raises ExperimentError if there is no valid policy,
    two files have the same name, or a run fails.
    """
    from lab.report.terminal import console, show
    from runtime import settings

    folder = settings.load().results_dir / FOLDER
    since = datetime.now(UTC).isoformat() if fresh else ""
    if fresh and not paths:
        console.print("The board is empty.")
        return Board.add(folder, (), console.print, since=since)
    board = Board.read(folder)
    if not paths and not board.rows:
        raise SpecError("FILE", "own/ has no policy; create one with `make new-policy NAME=…`")
    twice = sorted(stem for stem, number in Counter(p.stem for p in paths).items() if number > 1)
    if twice:
        raise SpecError("FILE", f"two files have the name {twice[0]}; give them in two commands")
    failed = {path: _failed(path) for path in paths}
    for path, findings in failed.items():
        for one in findings:
            console.print(f"{path} is left out: {_first_line(one)}", markup=False)
    valid = [path for path, findings in failed.items() if not findings]
    if paths and not valid:
        why = ". ".join(_first_line(one) for one in failed[paths[0]])
        raise ExperimentError(
            f"{paths[0].name} is not valid, so it has no row: {why}"
            if len(paths) == 1
            else "No policy is valid, so nothing was simulated; make check-policy shows why."
        )
    if valid:
        board = Board.of(folder, console.print)
        known = () if fresh or with_known else board.rows
        rows = _play(known, valid, processes, by)
        board = Board.add(folder, rows, console.print, since=since)
    show(board.table())
    console.print(f"Stored in {folder / 'scores.md'}; shown on the console's page /scoreboard/")
    return board


def conditions() -> Spec:
    """Return the spec with the conditions of all rows; its policies are the known policies."""
    path = Path(__file__).with_name("scoreboard.toml")
    return read_spec(path.read_text(encoding="utf-8"), str(path))


def alike() -> str:
    """Return a text that identifies the conditions and the code of a row; it is the same for all
    comparable rows.
    """
    return f"{conditions().fingerprint} {machine.code_digest()}"


class _UnfitError(Exception):
    """The error for scores that are not comparable with new ones, with the reason."""


class Board:
    """The scoreboard: a row for each pair of policy key and author, because two authors can use the
    same key.
    """

    def __init__(self, conditions: str, rows: Iterable[dict[str, Any]]) -> None:
        self.conditions = conditions
        self.rows = {(row["policy"], row["by"]): row for row in rows}

    @classmethod
    def read(cls, folder: Path) -> "Board":
        """Return the board in a folder, or an empty board if the folder has no valid board."""
        try:
            return cls._load(folder)
        except (_UnfitError, OSError):
            return cls(alike(), ())

    @classmethod
    def shown(cls, file: Path) -> "Board":
        """Return the board in a file, whatever the conditions of its rows are, or an empty board if
        the file cannot be read.
        """
        try:
            kept = json.loads(file.read_text(encoding="utf-8"))
            board = cls(kept["conditions"], kept["rows"])
            board.table()
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return cls("", ())
        return board

    @classmethod
    def of(cls, folder: Path, say: Callable[[str], None]) -> "Board":
        """Return the board in a folder, to which rows will be added. A board that is not comparable
        is moved to another file, with a message.

        Raises ExperimentError if the folder cannot be read or written.
        """
        with _locked(folder):
            return cls._fit(folder, say)

    @classmethod
    def add(
        cls,
        folder: Path,
        rows: Iterable[dict[str, Any]],
        say: Callable[[str], None],
        *,
        since: str = "",
    ) -> "Board":
        """Read the board in the folder again, because other processes may have changed it. Delete
        all rows that are older than `since` (a text as in `played_at`), and add these rows.

        Raises ExperimentError if the folder cannot be read or written.
        """
        with _locked(folder):
            kept = cls._fit(folder, say)
            newer = [row for row in kept.rows.values() if row.get("played_at", "") >= since]
            board = cls(kept.conditions, [*newer, *rows])
            board.write(folder)
            return board

    @classmethod
    def _fit(cls, folder: Path, say: Callable[[str], None]) -> "Board":
        try:
            return cls._load(folder)
        except _UnfitError as fault:
            when = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
            aside = folder / f"scores-{when}.json"
            (folder / SCORES).rename(aside)
            say(
                f"{folder / 'scores.json'} {fault}, so it was moved to {aside}, and a new board "
                "begins."
            )
            return cls(alike(), ())

    @classmethod
    def _load(cls, folder: Path) -> "Board":
        same = alike()
        if is_imported(folder):
            raise _UnfitError("was imported, not measured on this machine")
        try:
            kept = json.loads((folder / SCORES).read_text(encoding="utf-8"))
            if kept["conditions"] != same:
                raise _UnfitError("was made under other conditions or by another version")
            board = cls(same, kept["rows"])
            board.table()  # damaged rows show here
        except FileNotFoundError:
            return cls(same, ())
        except (ValueError, KeyError, TypeError, AttributeError):
            raise _UnfitError("is damaged") from None
        return board

    def write(self, folder: Path) -> None:
        """Write scores.json and scores.md; each file is written completely or not at all."""
        from lab.files.documents import write_json, write_text

        try:
            folder.mkdir(parents=True, exist_ok=True)
            rows = list(self.rows.values())
            write_json(folder / SCORES, {"conditions": self.conditions, "rows": rows})
            write_text(folder / "scores.md", self.table().markdown())
        except OSError as fault:
            raise _no_writing(folder, fault) from None

    def ranked(self) -> list[tuple[int | None, Mapping[str, Any]]]:
        """Return pairs (rank, row), from best to worst.

        Rows with far fewer confirms than expected come last, with the rank None.
        """
        best_first = sorted(self.rows.values(), key=lambda row: -row["overall"]["mean"])
        doubtful = [row for row in best_first if is_doubtful(row)]
        honest = [row for row in best_first if row not in doubtful]
        return [*enumerate(honest, start=1), *((None, row) for row in doubtful)]

    @property
    def loads(self) -> list[str]:
        return sorted({rho for row in self.rows.values() for rho in row["estimated"]}, key=float)

    def table(self) -> Table:
        """Return the board as a table."""
        loads = self.loads
        table = Table(
            "Scoreboard",
            (
                *("Place", "Policy", "By", *(f"ρ = {rho}" for rho in loads), "All loads"),
                *("Behind the best", "Confirms", "Expected"),
            ),
            note="The columns with loads show the estimated revenue efficiency: the mean of the "
            "repetitions ± the half-width of the 95 % interval. The value 1 is the capacity bound. "
            "All policies had the same customers. The column Behind the best shows the efficiency "
            "of the best policy minus the efficiency of this policy over all loads. This "
            "difference is calculated for pairs of runs with the same seed. If its 95 % interval "
            "contains 0, these runs do not show a difference. The intervals of the other "
            "columns show how exactly each value is known; do not use them to compare policies. "
            "Confirms are sums over all runs, and their expected number is calculated from the "
            "estimate. A policy that sold far fewer books than expected has no place, because the "
            "estimate is valid only if the policy does not know which customers will buy. *: The "
            "policy failed in a run, and FIFO decided from then on.",
        )
        ranked = self.ranked()
        best = next((row for place, row in ranked if place == 1), None)
        for place, row in ranked:
            table.rows.append(
                (
                    "–" if place is None else str(place),
                    row["title"] + ("*" if row.get("fallen_back") else ""),
                    row["by"],
                    *(_text(row["estimated"].get(rho)) for rho in loads),
                    _text(row["overall"]),
                    "best" if row is best else behind_words(row, best),
                    f"{_sum(row, 'confirms'):.0f}",
                    f"{_sum(row, 'expected'):.0f}",
                )
            )
        return table


def behind_words(row: Mapping[str, Any], best: Mapping[str, Any] | None) -> str:
    """Return the difference between the best row and this row, paired by seed, over the loads that
    both rows have.
    """
    if best is None:
        return "–"
    loads = [rho for rho in best["repetitions"] if rho in row["repetitions"]]
    found = paired([best["repetitions"][rho] for rho in loads],
                   [row["repetitions"][rho] for rho in loads])  # fmt: skip
    return found.text(3) if found else "–"


def is_doubtful(row: Mapping[str, Any]) -> bool:
    """Return whether far fewer customers bought than the estimate predicts."""
    expected = _sum(row, "expected")
    return _sum(row, "confirms") < expected - _FAR * math.sqrt(max(expected, 0.0))


def _sum(row: Mapping[str, Any], name: str) -> float:
    return math.fsum(row[name].values())


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locks.locked(folder / "lock", waits=True):
            yield
    except OSError as fault:
        raise _no_writing(folder, fault) from None


def _no_writing(folder: Path, fault: OSError) -> ExperimentError:
    return ExperimentError(f"{folder} cannot be read and written ({fault.strerror or fault}).")


def _play(
    kept: Collection[tuple[str, str]], valid: Sequence[Path], processes: int | None, by: str | None
) -> list[dict[str, Any]]:
    """Run these policies and the known policies of which no row is kept; return their rows."""
    from lab.runner.comparison import compare

    known = conditions().policy
    lacking = [one for one in known if (one.key, KNOWN) not in kept]
    folder = compare(_spec(valid, lacking), fresh=False, processes=processes)
    return rows_of_result(folder, by)


def with_known(path: Path) -> Spec:
    """Return the spec of this policy and all known ones; raises SpecError if it is invalid."""
    return _spec([path], conditions().policy)


def rows_of_result(folder: ComparisonResult, by: str | None = None) -> list[dict[str, Any]]:
    """Return a row of the board for each policy of a comparison; raises ExperimentError if its logs
    are damaged.

    `by` replaces the author that each student's file names.
    """
    from lab.analysis.cells import read_cells
    from lab.leaderboard.board import as_json, rows_of

    spec = folder.spec()
    cells = read_cells(folder)
    given_up = {
        cell.policy: summary.fallen_back.reason
        for cell in cells
        for summary in cell.summaries
        if summary.fallen_back
    }
    rows = []
    for row in as_json(rows_of(cells)):
        key = row["policy"]
        choice = spec.choice(key)
        file = choice.file
        rows.append(
            {
                **{name: row[name] for name in _OF_BOARD},
                "by": author(by or naming.sheet_of_file(file).source) if file else KNOWN,
                "sha256": choice.sha256,
                "fallen_back": given_up.get(key),
                "played_at": datetime.now(UTC).isoformat(timespec="seconds"),
                "result": folder.path.name,
            }
        )
    return rows


def author(source: str) -> str:
    """Return the author that the board shows for a student's policy; the result never equals KNOWN.

    Names that differ only in spaces or in the form of a character (such as “ﬁ” and “fi”) belong to
    the same author.
    """
    name = " ".join(unicodedata.normalize("NFKC", source).split())
    return f"{name} (own policy)" if name.casefold() == KNOWN else name


def _spec(valid: Sequence[Path], known: Sequence[Any]) -> Spec:
    policies = [{"name": str(path)} for path in valid]
    policies += [one.model_dump(mode="json", exclude_none=True) for one in known]
    names = ", ".join(path.stem for path in valid)
    return changed(conditions(), title=f"Scoreboard: {names}"[:200], policy=policies)


def _failed(path: Path) -> list[Finding]:
    failed: list[Finding] = []
    try:
        check(path, lambda one: None if one.holds else failed.append(one))
    except PolicyError as fault:
        raise SpecError("FILE", fault.message, allowed=fault.allowed) from None
    return failed


def _first_line(finding: Finding) -> str:
    return f"{finding.check}: {finding.says.splitlines()[0]}"


def _text(known: Mapping[str, Any] | None) -> str:
    if known is None:
        return "–"
    return Estimate(known["mean"], known["half_width"]).text(2)
