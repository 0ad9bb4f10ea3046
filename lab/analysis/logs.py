"""Queries on the raw logs of a result, with JSON-ready answers, and their export as CSV.

Every query has one dictionary as its argument, so that `common.bounded` can answer the query in a
process with limits. A query of a damaged file can raise any exception. `size` and `check` are not
queries.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from gateway.policies.interface import PAGES
from lab.analysis import decision_trace as explaining
from lab.analysis.cells import read_cells
from lab.analysis.curves import curves_of
from lab.analysis.metrics import METRICS
from lab.errors import ExperimentError
from lab.files.run_folder import RunFolder
from lab.files.run_summary import PlannedRun
from lab.results.comparison import ComparisonResult
from lab.wording import event_words
from loadgen.records.attempt_log import require_attempts
from loadgen.records.attempts import AttemptOutcome
from loadgen.records.rows import RowsFileError, Size, check_rows, pieces, size_of
from loadgen.workload.sessions import CONFIRM_PAGE

MOST_OF_SESSION = 60
KINDS = {
    "slow": "the slowest answered attempts",
    "confirmed": "confirmed purchases",
    "timed_out": "attempts whose customer left",
    "dropped": "attempts that a queueing policy dropped",
    "rejected": "attempts that were answered with a rejection page",
    "all": "all attempts, in the order of their sessions",
}
MOST_FRAMES = 1200
"""The approximate maximum number of samples of each run that a race shows."""
_COLUMNS = ("policy", "discipline", "cpu_utilisation_ratio", "in_service", "waiting")
_TOTALS = ("arrived_total", "answered_total", "dropped_total", "rejected_total", "orphaned_total",
           "confirms_total")  # fmt: skip
_MARKS = {
    "switched": "policy",
    "fault": "fault",
    "fault over": "fault",
    "load changed": "load",
}
_AROUND_S = 2.0
"""The returned samples cover this time before and after an attempt, in paper seconds."""

Asked = Mapping[str, Any]


def size(folder: ComparisonResult, run: str | None = None) -> tuple[int, int]:
    """Return the number of rows and of bytes in the tables of one run or of all runs, without
    reading the rows.

    Raises ExperimentError if a file is damaged.
    """
    rows = size_bytes = 0
    for planned, one in folder.whole_runs():
        if run is None or planned.folder == run:
            for path in (one.attempts_file, one.samples_file):
                if path.is_file():
                    found = _size_of(path)
                    rows += found.rows
                    size_bytes += found.size_bytes
    return rows, size_bytes


def _size_of(path: Path) -> Size:
    try:
        return size_of(path)
    except RowsFileError as fault:
        raise ExperimentError(str(fault)) from None


class TooManyRowsError(ExperimentError):
    """The error raised if the tables have more rows than allowed."""

    def __init__(self, rows: int) -> None:
        super().__init__(f"the tables have at least {rows:,} rows")
        self.rows = rows


def check(folder: Path, most_rows: int) -> None:
    """Read and check every table in a folder piece by piece, which needs little memory. Raises
    TooManyRowsError if the tables have more than `most_rows` rows, and ExperimentError if a table
    is damaged."""
    rows = 0
    for path in sorted(folder.rglob("*.parquet")):
        rows += _size_of(path).rows
        if rows > most_rows:
            raise TooManyRowsError(rows)
        try:
            check_rows(path, most_rows)
            if path.name == "attempts.parquet":
                require_attempts(path)
        except RowsFileError as fault:
            raise ExperimentError(str(fault)) from None


def run_metrics(asked: Asked) -> list[dict[str, Any]]:
    """Return the policy, ρ, the seed and every metric (`lab.analysis.metrics`) of complete runs."""
    folder = ComparisonResult(Path(asked["path"]))
    is_closed_loop = folder.spec().clients is not None
    return [
        {"policy": cell.policy, "rho": cell.rho, "seed": summary.seed}
        | {
            metric.name: None if is_closed_loop and metric.is_of_sessions else metric.of(outcomes)
            for metric in METRICS
        }
        for cell in read_cells(folder)
        for outcomes, summary in zip(cell.runs, cell.summaries, strict=True)
    ]


def curves(asked: Asked) -> dict[str, Any]:
    """Return the curves of a comparison (`path`), in the form of `curves_of`."""
    return curves_of(ComparisonResult(Path(asked["path"])))


def attempts(asked: Asked) -> dict[str, Any]:
    """Return the attempts of a `run`, chosen by `kind`, `page` type and `session`
    (`chosen_attempts`). `number` is the number of chosen attempts. `rows` is a page of at most
    `most` attempts, beginning with the attempt `first` (from 0). If there are not that many
    attempts, `rows` is the last page."""
    _, _, run = _run(asked)
    found = chosen_attempts(run.attempts(), asked["kind"], asked["page"], asked["session"])
    most = asked["most"]
    first = min(asked["first"], max(0, found.num_rows - 1) // most * most)
    rows = list(map(_with_response, found.slice(first, most).to_pylist()))
    return {"number": found.num_rows, "first": first, "rows": rows}


def attempt(asked: Asked) -> dict[str, Any]:
    """Return the attempt of a `run` with this `session`, `step` and `attempt`. `attempt` is the
    attempt or None; `others` are the first attempts of the session."""
    _, _, run = _run(asked)
    table = run.attempts()
    key = {part: asked[part] for part in ("session", "step", "attempt")}
    found = _where(table, key).slice(0, 1).to_pylist()
    others = _where(table, {"session": asked["session"]}).slice(0, MOST_OF_SESSION).to_pylist()
    return {
        "attempt": _with_response(found[0]) if found else None,
        "others": list(map(_with_response, others)),
    }


def _with_response(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row with the attempt's duration, which is None if the attempt was not sent or has
    no end."""
    ended_s = row["finished_s"]
    return row | {"response_s": None if ended_s is None else ended_s - row["started_s"]}


def chosen_attempts(table: pa.Table, kind: str, page: str, session: str) -> pa.Table:
    """Return the attempts of this kind, page and session; an empty `page` or `session` means any.
    `slow` begins with the slowest attempt, `all` has the order of the log, and the other kinds have
    the order of time. Raises ExperimentError if an argument is invalid."""
    if kind not in KINDS:
        raise ExperimentError(f"kind: {kind!r}; allowed: {', '.join(KINDS)}")
    if page and page not in set(PAGES):
        raise ExperimentError(f"page type: {page!r}; allowed: {', '.join(PAGES)}")
    if session and not (session.isascii() and session.isdigit() and len(session) < 10):
        raise ExperimentError(f"session: {session!r}; allowed: the number of a session, from 0")
    wanted: dict[str, object] = {}
    if kind != "all":
        answered = kind in ("slow", "confirmed")
        wanted["outcome"] = AttemptOutcome.COMPLETED.value if answered else kind
    if page:
        wanted["page"] = page
    if session:
        wanted["session"] = int(session)
    found = _where(table, wanted)
    if kind == "confirmed":
        found = _where(found, {"page": CONFIRM_PAGE})
    if kind == "slow":
        took_s = pc.subtract(found.column("finished_s"), found.column("started_s"))
        return found.take(pc.array_sort_indices(took_s.combine_chunks(), order="descending"))
    return found if kind == "all" else found.sort_by("started_s")


def _where(table: pa.Table, wanted: Mapping[str, object]) -> pa.Table:
    for column, value in wanted.items():
        table = table.filter(pc.equal(table.column(column), value))
    return table


def around(asked: Asked) -> dict[str, Any]:
    """Return `samples` of a live `run` around an attempt of `page`, and the `events` of the run.
    `started_s` and `finished_s` are the times of the attempt."""
    _, _, run = _run(asked)
    columns = run.samples().to_pydict()
    times = columns["time_s"]
    # The sampler starts a little before the customers. The first arrival is in both logs, and
    # shows the difference of the clocks.
    arrived = columns["arrived_total"]
    first = next((i for i, count in enumerate(arrived) if count > arrived[0]), 0)
    shift_s = times[first] if times else 0.0
    low_s, high_s = asked["started_s"] + shift_s, asked["finished_s"] + shift_s
    near = [
        i for i, time_s in enumerate(times) if low_s - _AROUND_S <= time_s <= high_s + _AROUND_S
    ]
    step = max(1, len(near) // 12)
    return {
        "samples": [
            {
                "time_s": times[i] - shift_s,
                "discipline": columns["discipline"][i],
                "cpu": columns["cpu_utilisation_ratio"][i],
                "in_service": columns["in_service"][i],
                "waiting": columns["waiting"][i],
                "own": columns.get(f"waiting_{asked['page']}", [None] * len(times))[i],
                "admits": columns["admits"][i],
                "predicted": columns["predicted_utilisation_ratio"][i],
            }
            for i in near[::step]
        ],
        "events": run.events(),
    }


def frames(asked: Asked) -> dict[str, Any]:
    """Return samples of a `run` as columns, at most about MOST_FRAMES. Times are paper seconds
    since the load generator started; `marks` are the changes and faults."""
    folder, _, run = _run(asked)
    samples = run.samples()
    rows = samples.num_rows
    if not rows:
        raise ExperimentError(f"{run.samples_file} has no samples")
    step = max(1, -(-rows // MOST_FRAMES))
    kept = [*range(0, rows - 1, step), rows - 1]  # the last sample has the final counts
    columns = samples.take(kept).to_pydict()
    first = samples.slice(0, 1).to_pydict()
    events = run.events()
    began_s = _customers_came_s(folder, run, events)
    marks = []
    for event in events:
        if kind := _MARKS.get(event["event"]):
            # The load generator itself writes its changes, on its own clock.
            x = event["time_s"] - (0.0 if kind == "load" else began_s)
            marks.append({"x": x, "text": event_words(event), "kind": kind})
    return {
        "time_s": [time_s - began_s for time_s in columns["time_s"]],
        **{name: columns[name] for name in _COLUMNS},
        **{name: [value - first[name][0] for value in columns[name]] for name in _TOTALS},
        "waiting_by_page": [columns[f"waiting_{page}"] for page in PAGES],
        "marks": marks,
    }


def _customers_came_s(
    folder: ComparisonResult, run: RunFolder, events: Sequence[Mapping[str, Any]]
) -> float:
    """Return the time at which the load generator started, on the clock of the samples; 0 for a
    simulation, or if the time is unknown. A race aligns the runs by this time.
    """
    spec = folder.spec()
    if spec.engine != "live":
        return 0.0
    started = next((event["at"] for event in events if event["event"] == "run started"), None)
    came_at = run.summary().load_generator.started_at
    if started is None or came_at is None:
        return 0.0
    return max(0.0, (came_at - datetime.fromisoformat(started).timestamp()) * spec.time_scale)


def write_csv(asked: Asked) -> None:
    """Write the `log` of a `run` ("attempts" or "samples") as CSV to the file `to`."""
    _, _, run = _run(asked)
    path = run.attempts_file if asked["log"] == "attempts" else run.samples_file
    lines = None
    for piece in pieces(path):
        lines = lines or pyarrow.csv.CSVWriter(asked["to"], piece.schema)
        lines.write_batch(piece)
    if lines is not None:
        lines.close()


def explain(asked: Asked) -> dict[str, Any]:
    """Return the `DecisionTrace` of the attempt `wanted` of a simulated `run`."""
    folder, planned, _ = _run(asked)
    return asdict(explaining.explain(folder, planned, explaining.Wanted(**asked["wanted"])))


def _run(asked: Asked) -> tuple[ComparisonResult, PlannedRun, RunFolder]:
    folder = ComparisonResult(Path(asked["path"]))
    for planned, run in folder.whole_runs():
        if planned.folder == asked["run"]:
            return folder, planned, run
    raise ExperimentError(f"run: {asked['run']!r:.80} is not a complete run of {folder.path.name}")
