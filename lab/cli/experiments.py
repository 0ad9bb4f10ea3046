"""The commands `compare`, `run`, `simulate` and `worker`, which run experiments, and the command
`schema`, which prints the JSON schema of specs.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from lab.cli.command import (
    AS_JSON,
    FRESH,
    QUIET,
    LabCommand,
    TimedCommand,
    all_of,
    broker_of,
    print_json,
    refuse_for_live,
    spread,
)
from lab.cli.experiment_options import ONLY_LIVE, complete_spec, overridable, with_options
from lab.cli.server import client_of, of_server, summary_of_launch
from lab.errors import ExperimentError, SpecError
from lab.files.documents import read_json
from lab.machine.progress_file import progress_file
from lab.report.drawing.table import Table
from lab.results.comparison import ComparisonResult
from lab.runner.stopwatch import LEAST_READ_REQUESTS, stopwatch
from lab.spec.experiment import Spec, load_checked
from runtime import settings

if TYPE_CHECKING:
    from lab.analysis.cells import Cell

SIMULATED = {"engine": "simulated"}
"""The change that makes a spec run in the simulator."""

_CONSOLE = of_server(required=False)


_PRINTING = all_of(AS_JSON, QUIET)


@click.command(cls=TimedCommand)
@click.argument("spec_name", metavar="[SPEC]", required=False, shell_complete=complete_spec)
@click.option(
    "--full", is_flag=True, help="Run the spec lifo-pri-full: three loads, three repetitions."
)
@click.option("--spec", "spec_option", metavar="SPEC", help="Another way to give SPEC.")
@FRESH
@_CONSOLE
@_PRINTING
@overridable
def compare(spec_name: str | None, full: bool, spec_option: str | None, **given: Any) -> None:
    """Compare policies that serve the same rush of impatient customers.

    SPEC is a spec file or the name of an included spec. The default is lifo-pri (Tables 4 and 5 of
    the paper). The command measures the capacity unless a valid measurement is stored, runs the
    policies in random order, and writes a result folder. The output has a conclusion. If the paper
    has numbers for the same conditions, the output shows them next to the measured numbers. To
    resume after an interruption, repeat the command. With --server, a console runs the policies and
    keeps the result.
    """
    named = [name for name in (spec_name, spec_option, "--full" if full else None) if name]
    if len(named) > 1:
        raise click.UsageError("SPEC, --spec and --full each name a spec; give one of them")
    spec = load_checked(_name_of(spec_name or spec_option, full))
    _carry_out_as_told(with_options(spec, given), **given)


def _name_of(given: str | None, full: bool = False) -> str:
    return given or ("lifo-pri-full" if full else "lifo-pri")


@click.command(cls=TimedCommand)
@click.argument("spec_name", metavar="SPEC", shell_complete=complete_spec)
@FRESH
@spread
@_PRINTING
@overridable
def run(spec_name: str, processes: int | None, celery: str | None, **given: Any) -> None:
    """Run the experiment of SPEC: a spec file, or the name of an included spec."""
    spec = with_options(load_checked(spec_name), given)
    if spec.engine == "live":
        refuse_for_live(processes, celery)
    _carry_out_as_told(spec, processes=processes, celery=celery, **given)


@click.command(cls=TimedCommand)
@click.argument(
    "spec_name", metavar="[SPEC]", default="lifo-pri-simulated", shell_complete=complete_spec
)
@FRESH
@spread
@_CONSOLE
@_PRINTING
@overridable
def simulate(spec_name: str, **given: Any) -> None:
    """Run an experiment in the simulator, even if its spec names the live engine.

    Policies and customers are the same as in a live run. The server is a model and time is virtual,
    so an experiment takes minutes instead of hours. The default SPEC is lifo-pri-simulated (Tables
    4 and 5 of the paper). With --server, a console runs the simulation and keeps the result.
    """
    _carry_out_as_told(with_options(load_checked(spec_name), given | SIMULATED), **given)


for _option in simulate.params:
    if isinstance(_option, click.Option) and _option.name in ONLY_LIVE:
        _option.hidden = True


def spec_of(words: Sequence[str], load: Callable[[str], Spec] = load_checked) -> Spec:
    """Return the spec that `compare`, `run` or `simulate` would run with these arguments. Raises
    SpecError, or click's exception for an invalid option."""
    name, *options = words
    command = {"compare": compare, "run": run, "simulate": simulate}[name]
    given = command.make_context(name, options).params
    spec = load(_name_of(given["spec_name"] or given.get("spec_option"), given.get("full", False)))
    return with_options(spec, given | (SIMULATED if command is simulate else {}))


def _carry_out_as_told(
    spec: Spec,
    *,
    fresh: bool,
    as_json: bool,
    quiet: bool,
    server: str | None = None,
    token_file: Path | None = None,
    authority: Path | None = None,
    processes: int | None = None,
    celery: str | None = None,
    **_: Any,
) -> None:
    from lab.report.terminal import output

    with output(as_json=as_json, quiet=quiet):
        if server is None:
            found = carry_out(spec, fresh=fresh, processes=processes, broker=broker_of(celery))
        else:
            for option, given in (
                ("--fresh", fresh),
                ("--processes", processes is not None),
                ("--celery", celery is not None),
            ):
                if given:
                    raise SpecError(
                        option, "does not apply to a console", allowed="only without --server"
                    )
            with client_of(server, token_file, authority) as client:
                found = summary_of_launch(client, server, spec)
            _conclude(
                [*found["warnings"], *found["checks"]],
                [f"Result: {found['page']}"],
                found["verdict"],
                Table.of(found["tables"][0]),
            )
        if as_json:
            print_json(found)


def carry_out(
    spec: Spec, *, fresh: bool, processes: int | None = None, broker: str | None = None
) -> Mapping[str, Any]:
    """Run an experiment on the engine that its spec names, and report its result."""
    from lab.runner.comparison import compare as make

    result = make(spec, fresh=fresh, processes=processes, broker=broker)
    progress_file.tell(now=True, done_ratio=1.0, words="reading the logs and drawing the results")
    found = report(result)
    stopwatch.end(settings.load())
    return found


def report(folder: ComparisonResult) -> Mapping[str, Any]:
    """Draw the tables and figures of a result, and print its conclusion.

    Returns the facts about the result for programs, with the names that the console's API uses.
    """
    # Importing matplotlib takes a second, and only drawing needs it.
    from lab.analysis.cells import read_cells
    from lab.runner.estimates import DRAWN
    from lab.runner.expectation import Expectation

    spec = folder.spec()
    requests = Expectation(spec, folder.capacity_rps()).all_requests
    with stopwatch.measuring("read", requests, at_least=LEAST_READ_REQUESTS):
        cells = read_cells(folder)
    if not cells:
        raise ExperimentError(f"{folder.path} has no complete run yet.")
    drawn = "draw leaderboard" if spec.leaderboard else "draw comparison"
    with stopwatch.measuring(drawn, DRAWN + len(cells)):
        _draw(folder, cells)
    return _summary(folder)


def _summary(folder: ComparisonResult) -> Mapping[str, Any]:
    from lab.analysis.warnings import is_warning

    spec, conclusion = folder.spec(), folder.conclusion()
    return {
        "name": folder.path.name,
        "path": str(folder.path),
        "title": spec.title,
        "engine": spec.engine,
        "verdict": conclusion.sentences,
        "warnings": [line for line in conclusion.lines if is_warning(line)],
        "checks": [line for line in conclusion.lines if not is_warning(line)],
        "tables": read_json(folder.path / "tables.json"),
    }


def _draw(folder: ComparisonResult, cells: "Sequence[Cell]") -> None:
    from lab.report.figures import draw_figures
    from lab.report.tables import of_terminal, write_tables
    from lab.report.terminal import show

    if folder.spec().leaderboard:
        from lab.leaderboard.report import say_board

        say_board(folder, cells)
        return
    tables = write_tables(folder, cells)
    figures = draw_figures(folder, cells)
    *others, headline = of_terminal(tables, cells)
    for table in others:
        show(table)
    places = [
        f"Tables: {folder.path / 'tables.md'}",
        f"Figures: {len(figures)} in {folder.figures} (PNG and SVG)",
    ]
    conclusion = folder.conclusion()
    _conclude(conclusion.lines, places, conclusion.sentences, headline)


def _conclude(
    lines: Sequence[str], places: Sequence[str], verdict: Sequence[str], headline: Table
) -> None:
    from lab.analysis.warnings import is_warning
    from lab.report.terminal import console, essential, show

    for line in lines:
        with essential() if is_warning(line) else nullcontext():
            console.print(Text(line))
    for place in places:
        console.print(Text(place))
    console.print()
    with essential():
        for sentence in verdict:
            console.print(Text(sentence, style="bold"))
        show(headline)


@click.command(cls=LabCommand)
def schema() -> None:
    """Print the JSON schema of specs.

    The schema has every key with its type. `doorbuster run` checks more, for example that a policy
    has a given parameter.
    """
    print_json(Spec.model_json_schema())


@click.command(cls=LabCommand)
@click.option(
    "--broker",
    help="The broker's address, redis://…; by default DOORBUSTER_GRID_BROKER or "
    "DOORBUSTER_CELERY_BROKER.",
)
@click.option(
    "--processes",
    type=click.IntRange(1),
    help="The maximum number of simultaneous simulations; by default, the number of CPUs.",
)
def worker(broker: str | None, processes: int | None) -> None:
    """Run simulations on this machine, for commands with `--celery` on this or other machines."""
    from lab.executors import tasks
    from lab.executors.celery import serve

    serve(tasks.checked(broker or settings.load().simulations_broker, "--broker"), processes)
