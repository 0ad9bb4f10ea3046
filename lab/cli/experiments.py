"""The commands that run experiments: `compare`, `run` and `simulate`."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from lab.cli.completion import complete_spec
from lab.cli.executor_options import FRESH, broker_of, spread
from lab.cli.experiment_options import overridable, with_options
from lab.cli.faults import TimedCommand
from lab.errors import ExperimentError, SpecError
from lab.machine.progress_file import progress_file
from lab.results.comparison import ComparisonResult
from lab.runner.stopwatch import LEAST_READ_REQUESTS, stopwatch
from lab.spec.experiment import Spec, load_checked
from runtime import settings

if TYPE_CHECKING:
    from lab.analysis.cells import Cell

SIMULATED = {"engine": "simulated"}
"""The option that `simulate` sets."""


@click.command(cls=TimedCommand)
@click.argument("spec_name", metavar="[SPEC]", required=False, shell_complete=complete_spec)
@click.option("--full", is_flag=True, help="The acceptance run: three loads, three repetitions.")
@click.option("--spec", "spec_option", metavar="SPEC", help="The same as SPEC.")
@FRESH
@overridable
def compare(
    spec_name: str | None, full: bool, spec_option: str | None, fresh: bool, **given: Any
) -> None:
    """Compare policies against the same rush of impatient customers.

    SPEC is a spec file, or the name of an included one; the default is LIFO-Pri, Tables 4 and 5.
    The command measures the capacity, runs the policies in random order, and writes a result
    folder. It prints tables, with published numbers next to the measured ones, and ends with a
    conclusion. After an interruption, the same command resumes.
    """
    named = [name for name in (spec_name, spec_option, "--full" if full else None) if name]
    if len(named) > 1:
        raise click.UsageError("SPEC, --spec and --full each name a spec; give one of them")
    spec = load_checked(_name_of(spec_name or spec_option, full))
    carry_out(with_options(spec, given), fresh=fresh)


def _name_of(given: str | None, full: bool = False) -> str:
    return given or ("lifo-pri-full" if full else "lifo-pri")


@click.command(cls=TimedCommand)
@click.argument("spec_name", metavar="SPEC", shell_complete=complete_spec)
@FRESH
@spread
@overridable
def run(
    spec_name: str, fresh: bool, processes: int | None, celery: str | None, **given: Any
) -> None:
    """Run the experiment of a spec file (or of an included one, by its name)."""
    spec = with_options(load_checked(spec_name), given)
    if spec.engine == "live" and (processes is not None or celery is not None):
        option = "--processes" if celery is None else "--celery"
        raise SpecError(
            f"{option}: live runs take turns on this machine; allowed: with simulated runs"
        )
    carry_out(spec, fresh=fresh, processes=processes, broker=broker_of(celery))


@click.command(cls=TimedCommand)
@click.argument(
    "spec_name",
    metavar="[SPEC]",
    default="lifo-pri-simulated",
    shell_complete=complete_spec,
)
@FRESH
@spread
@overridable
def simulate(
    spec_name: str, fresh: bool, processes: int | None, celery: str | None, **given: Any
) -> None:
    """Run an experiment in the simulator, whatever engine its spec names.

    The policies and customers are the same, the server is a model, and time is virtual: seconds
    instead of hours. The default SPEC is LIFO-Pri, Tables 4 and 5.
    """
    spec = with_options(load_checked(spec_name), given | SIMULATED)
    carry_out(spec, fresh=fresh, processes=processes, broker=broker_of(celery))


def spec_of(words: Sequence[str], load: Callable[[str], Spec] = load_checked) -> Spec:
    """Return the spec that `compare …`, `run …` or `simulate …` would run.

    `load` returns the spec of a name. Raises SpecError, or click's exception for a wrong option.
    """
    name, *options = words
    command = {"compare": compare, "run": run, "simulate": simulate}[name]
    given = command.make_context(name, options).params
    spec = load(_name_of(given["spec_name"] or given.get("spec_option"), given.get("full", False)))
    return with_options(spec, given | (SIMULATED if command is simulate else {}))


def carry_out(
    spec: Spec, *, fresh: bool, processes: int | None = None, broker: str | None = None
) -> None:
    """Carry out an experiment on the engine that it names, and report."""
    from lab.runner.comparison import compare as make

    result = make(spec, fresh=fresh, processes=processes, broker=broker)
    progress_file.tell(now=True, done_ratio=1.0, words="reading the logs, drawing the results")
    report(result)
    stopwatch.end(settings.load())


def report(folder: ComparisonResult) -> None:
    """Draw the tables and figures of a result, and print what they say."""
    # matplotlib takes a second to import: only drawing needs it.
    from lab.analysis.cells import read_cells
    from lab.runner.estimates import DRAWN
    from lab.runner.expectation import Expectation

    spec = folder.spec()
    capacity = folder.capacity()
    requests = Expectation(spec, capacity and capacity.median_rps).all_requests
    with stopwatch.measuring("read", requests, at_least=LEAST_READ_REQUESTS):
        cells = read_cells(folder)
    if not cells:
        raise ExperimentError(f"{folder.path} has no complete run yet.")
    drawn = "draw leaderboard" if spec.leaderboard else "draw comparison"
    with stopwatch.measuring(drawn, DRAWN + len(cells)):
        _draw(folder, cells)


def _draw(folder: ComparisonResult, cells: "Sequence[Cell]") -> None:
    from lab.analysis.verdict import verdict
    from lab.analysis.warnings import honesty
    from lab.report.figures import draw_figures
    from lab.report.tables import of_terminal, write_tables
    from lab.report.terminal import console, show

    if folder.spec().leaderboard:
        from lab.leaderboard.print_board import say_board

        say_board(folder, cells)
        return
    tables = write_tables(folder, cells)
    figures = draw_figures(folder, cells)
    *others, headline = of_terminal(tables, cells)
    for table in others:
        show(table)
    for line in honesty(cells):
        console.print(line)
    console.print(f"Tables: {folder.path / 'tables.md'}")
    console.print(f"Figures: {len(figures)} in {folder.figures} (PNG and SVG)")
    console.print()
    for sentence in verdict(folder.spec(), cells):
        console.print(sentence, style="bold")
    show(headline)
