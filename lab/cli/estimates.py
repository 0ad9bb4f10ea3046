"""The command `doorbuster estimates`: predicted and actual times of all included experiments."""

import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import click

from common import log_tail
from lab.cli.command import AS_JSON, LabCommand, print_json
from lab.errors import ExperimentError, SpecError
from lab.files.documents import read_json
from lab.machine import speeds
from lab.report.drawing.table import Table
from lab.results.result import made_here
from lab.runner import estimates, stopwatch
from lab.runner.estimates import Estimate
from lab.spec.experiment import SPECS, Spec, load_checked
from lab.studies.registry import PAPERS
from lab.wording import duration
from runtime import settings

COMMANDS: tuple[tuple[str, ...], ...] = (
    *(("reproduce", paper, "--quick") for paper in PAPERS),
    ("leaderboard", "robustness"),
    ("leaderboard", "hysteresis"),
    ("leaderboard", "hysteresis", "--quick"),
)
"""The included commands that have no spec."""
QUICK_S = 120.0
"""`--run quick` runs simulated experiments with a predicted duration of at most this many real
seconds."""
ALLOWED_FACTOR = 1.5
"""A prediction is good if it differs from the actual duration by at most this factor."""
GROUPS = ("quick", "simulated", "all")


@dataclass(frozen=True, slots=True)
class Entry:
    """An included experiment."""

    name: str
    arguments: tuple[str, ...]
    spec: Spec | None
    what: str
    """The text that identifies the experiment, as in `time.json`."""

    @property
    def engine(self) -> str:
        """The engine: `live` or `simulated`."""
        if self.spec is not None:
            return self.spec.engine
        return estimates.engine_of_command(self.arguments)

    def estimate(self, lab: settings.Settings) -> Estimate:
        """Return the present estimate of the experiment's duration."""
        cpus = estimates.cpus_here()
        if self.spec is not None:
            return estimates.of_launch(self.spec, lab, processes=cpus)
        found = estimates.of_command(self.arguments, speeds.load(lab), processes=cpus)
        assert found is not None, self.arguments  # shipped
        return found


@dataclass(frozen=True, slots=True)
class Taken:
    """The predicted and the actual duration of an experiment that has run."""

    predicted_s: float
    took_s: float
    idle_s: float
    at: str

    @property
    def ratio(self) -> float:
        """The actual duration on an idle machine, divided by the predicted duration."""
        return self.idle_s / self.predicted_s

    @property
    def is_good(self) -> bool:
        return 1 / ALLOWED_FACTOR <= self.ratio <= ALLOWED_FACTOR


def entries() -> list[Entry]:
    """Return every included spec, and every command with a predictable duration."""
    known = speeds.shipped()
    specs = [(path.stem, load_checked(path.stem)) for path in sorted(SPECS.glob("*.toml"))]
    found = [Entry(name, ("run", name), spec, spec.fingerprint) for name, spec in specs]
    for arguments in COMMANDS:
        name = estimates.command_name(arguments)
        if name in known.work or f"live {name}" in known.costs:
            found.append(Entry(name, arguments, None, name))
    return found


def taken(lab: settings.Settings) -> dict[str, Taken]:
    """Return the durations of each experiment's newest complete run, by `Entry.what`."""
    found: dict[str, Taken] = {}
    for folder in made_here(lab.results_dir, stopwatch.FILE):
        try:
            content = read_json(folder / stopwatch.FILE)
            one = Taken(
                predicted_s=float(content["predicted_s"]),
                took_s=float(content["took_s"]),
                idle_s=float(content["idle_s"]),
                at=str(content["at"]),
            )
            if one.predicted_s > 0 and one.idle_s > 0:
                found.setdefault(str(content["what"]), one)
        except (ExperimentError, KeyError, TypeError, ValueError):
            continue  # the run has not ended, or its file is damaged
    return found


def table(lab: settings.Settings, every: Iterable[Entry]) -> Table:
    known = taken(lab)
    cpus = estimates.cpus_here()
    found = Table(
        "Predicted and actual times",
        ("Experiment", "Engine", "Predicted now", "Predicted then", "Took", "Idle", "Ratio", "Run"),
        note="All durations are in real time and include the drawing of tables and figures. "
        f"Predicted now is the duration {estimates.IDLE}, with simulations on {cpus} processors. "
        "Predicted then is the prediction before the last complete run on this machine, and Took "
        "is the duration of this run. Idle is this run's duration on an idle machine, calculated "
        "from its CPU time and the time of its live runs. Ratio is Idle / Predicted then; a ratio "
        f"from {1 / ALLOWED_FACTOR:.2f} to {ALLOWED_FACTOR} is good.",
    )
    for one in every:
        run = known.get(one.what)
        cells: tuple[str, ...] = ("–",) * 5
        if run is not None:
            mark = "" if run.is_good else " !"
            times = (run.predicted_s, run.took_s, run.idle_s)
            cells = (*map(_time, times), f"{run.ratio:.2f}{mark}", _day(run.at))
        found.rows.append((one.name, one.engine, _time(one.estimate(lab).real_s), *cells))
    return found


def rows(lab: settings.Settings, every: Iterable[Entry]) -> list[dict[str, Any]]:
    """Return the table's rows for JSON, in real seconds; `run` is None before the first run."""
    known = taken(lab)
    found = []
    for one in every:
        run = known.get(one.what)
        told = None if run is None else asdict(run) | {"ratio": run.ratio, "good": run.is_good}
        predicted_s = one.estimate(lab).real_s
        found.append(
            {"name": one.name, "engine": one.engine, "predicted_s": predicted_s, "run": told}
        )
    return found


def _time(real_s: float) -> str:
    return f"{real_s:.1f} s" if real_s < 10 else duration(real_s)


def _day(at: str) -> str:
    try:
        return f"{datetime.fromisoformat(at):%Y-%m-%d %H:%M}"
    except ValueError:
        return "–"


def chosen(every: Sequence[Entry], names: Sequence[str], lab: settings.Settings) -> list[Entry]:
    """Return the entries that these names and groups select; raises SpecError for an unknown
    name."""
    found: list[Entry] = []
    for name in names:
        if name in GROUPS:
            found += [one for one in every if _is_in(one, name, lab)]
            continue
        named = [one for one in every if one.name == name]
        if not named:
            allowed = ", ".join([*GROUPS, *(one.name for one in every)])
            raise SpecError("--run", f"{name!r} is unknown", allowed=allowed)
        found += named
    return list({one.name: one for one in found}.values())


def _is_in(one: Entry, group: str, lab: settings.Settings) -> bool:
    if group == "all":
        return True
    is_simulated = one.engine == "simulated"
    return is_simulated and (group == "simulated" or one.estimate(lab).real_s <= QUICK_S)


@click.command("estimates", cls=LabCommand)
@click.option(
    "--run",
    "names",
    metavar="NAME",
    multiple=True,
    help="First run this experiment or group. The groups are quick (simulated experiments with a "
    "predicted duration of at most 2 minutes), simulated, and all (also the live experiments). You "
    "can give this option several times.",
)
@click.option("--markdown", is_flag=True, help="Print the table as Markdown.")
@AS_JSON
def estimates_command(names: tuple[str, ...], markdown: bool, as_json: bool) -> None:
    """Print the predicted and the actual duration of every included experiment.

    Predictions assume that this machine does no other work. With --run, the exit status is 1 if an
    experiment failed, or if a prediction was wrong by more than a factor of 1.5.
    """
    from lab.report.terminal import console, output, show

    if markdown and as_json:
        raise SpecError("--json", "given together with --markdown", allowed="one of them")
    lab = settings.load()
    estimates.calibrated(lab)
    every = entries()
    wanted = chosen(every, names, lab)
    failed = []
    with output(as_json=as_json, quiet=False):
        for number, one in enumerate(wanted, start=1):
            words = one.estimate(lab).words
            console.print(f"[{number}/{len(wanted)}] {one.name}: {words}", markup=False)
            if fault := _run(one):
                failed.append(one.name)
                console.print(f"{one.name} failed: {fault}", markup=False)
        if as_json:
            print_json(rows(lab, every))
        elif markdown:
            click.echo(table(lab, every).markdown(), nl=False)
        else:
            show(table(lab, every))
        known = taken(lab)
        off = [one.name for one in wanted if one.what in known and not known[one.what].is_good]
        if off:
            console.print(
                f"Predictions wrong by more than a factor of {ALLOWED_FACTOR}: {', '.join(off)}"
            )
    if off or failed:
        sys.exit(1)


def _run(one: Entry) -> str:
    """Run the entry's command. Return the reason if the command failed, otherwise an empty text."""
    program = [sys.executable, "-m", "doorbuster", *one.arguments, "--fresh"]
    ended: Any = subprocess.run(program, capture_output=True, text=True, check=False)
    if ended.returncode == 0:
        return ""
    return log_tail.last_line(ended.stderr or ended.stdout, f"status {ended.returncode}")
