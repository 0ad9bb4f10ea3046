"""The commands that run experiments, and the group of all commands.

Exit statuses: 0 done, 1 a run failed, 2 the request is invalid, 130 interrupted.
"""

import errno
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lab.cli import policy_sheets
from lab.cli.estimates import estimates_command
from lab.cli.executor_options import FRESH, broker_of, spread
from lab.cli.experiment_options import PAGE_PROFILE, SEED, TIME_SCALE, overridable, with_options
from lab.cli.leaderboard import leaderboard_command
from lab.cli.platform import platform
from lab.cli.profile import profile_connections
from lab.cli.reproduce import reproduce
from lab.cli.students import check_policy, new_policy, scoreboard, test_own
from lab.errors import ExperimentError, SpecError
from lab.executors.broker import checked
from lab.machine.progress_file import progress_file
from lab.results.comparison import ComparisonResult
from lab.results.reference import is_reference
from lab.runner.stopwatch import LEAST_READ_REQUESTS, stopwatch
from lab.spec.experiment import Spec, load_spec
from runtime import settings

if TYPE_CHECKING:
    from lab.analysis.cells import Cell

_CANNOT_BE_WRITTEN = {
    *(errno.EACCES, errno.EPERM, errno.EROFS),
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG),
}
"""A folder without write permission, or a full disk: faults that the user can fix."""


class _Commands(click.Group):
    """Commands whose faults print one line, never a traceback; Ctrl-C ends with status 130."""

    def invoke(self, ctx: click.Context) -> Any:
        # SIGTERM does what Ctrl-C does: the load ends, the folder stays.
        # Background jobs of a shell ignore Ctrl-C by default; this one must not.
        for sign in (signal.SIGTERM, signal.SIGINT):
            signal.signal(sign, signal.default_int_handler)
        try:
            return super().invoke(ctx)
        except (ExperimentError, settings.SettingsError) as fault:
            click.echo(f"Error: {fault}", err=True)
            sys.exit(2 if isinstance(fault, SpecError) else 1)
        except OSError as fault:
            if fault.errno not in _CANNOT_BE_WRITTEN:
                raise
            where = f"{fault.filename}: " if fault.filename else ""
            click.echo(
                f"Error: {where}{fault.strerror}; if it holds the results, choose another folder "
                "with DOORBUSTER_RESULTS_DIR.",
                err=True,
            )
            sys.exit(1)
        except click.UsageError as fault:
            click.echo(f"Error: {fault.format_message()}", err=True)
            sys.exit(2)
        except KeyboardInterrupt:
            click.echo("\nInterrupted.", err=True)
            sys.exit(130)
        finally:
            stopwatch.forget()


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Overload-control experiments: run them, compare policies, draw the results."""


@main.command()
@click.argument("spec_name", metavar="[SPEC]", required=False)
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
    spec_name = spec_name or spec_option
    spec = load_spec(spec_name or ("lifo-pri-full" if full else "lifo-pri"))
    _experiment(with_options(spec, given), fresh=fresh)


@main.command()
@click.argument("spec_name", metavar="SPEC")
@FRESH
@spread
@overridable
def run(
    spec_name: str, fresh: bool, processes: int | None, celery: str | None, **given: Any
) -> None:
    """Run the experiment of a spec file (or of an included one, by its name)."""
    spec = with_options(load_spec(spec_name), given)
    if spec.engine == "live" and (processes is not None or celery is not None):
        option = "--processes" if celery is None else "--celery"
        raise SpecError(
            f"{option}: live runs run here, one at a time; allowed: with simulated runs"
        )
    _experiment(spec, fresh=fresh, processes=processes, broker=broker_of(celery))


@main.command()
@click.argument("spec_name", metavar="[SPEC]", default="lifo-pri-simulated")
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
    spec = with_options(load_spec(spec_name), {**given, "engine": "simulated"})
    _experiment(spec, fresh=fresh, processes=processes, broker=broker_of(celery))


@main.command()
@click.option("--broker", help="redis://…; by default DOORBUSTER_GRID_BROKER.")
@click.option("--processes", type=click.IntRange(1), help="Tasks at a time; as many as CPUs.")
def worker(broker: str | None, processes: int | None) -> None:
    """Run simulations for commands with `--celery`, on this machine or another."""
    from lab.executors.celery import serve

    serve(checked(broker or settings.load().simulations_broker, "--broker"), processes)


@main.command()
@TIME_SCALE
@PAGE_PROFILE
@SEED
def capacity(**given: Any) -> None:
    """Measure how many requests the shop can serve: closed loop, median of three."""
    from lab.engines import capacity as capacities
    from lab.machine.description import live_run_lock
    from lab.report.terminal import console
    from lab.runner.environment import surroundings
    from lab.runner.live import measure_capacity, running_appliance

    spec = with_options(Spec(), given)
    lab = settings.load()
    appliance = running_appliance(lab)
    with live_run_lock(), surroundings(appliance, spec):
        measured = measure_capacity(spec, lab, [appliance])
    each = ", ".join(f"{rps:.3f}" for rps in measured.measurements_rps)
    console.print(f"Capacity {measured.median_rps:.3f} requests per paper second (of {each})")
    console.print(f"Live runs of the next {capacities.KEPT_FOR.days * 24} hours use it.")
    console.print(f"Kept in {capacities.file_of(measured, lab)}")


@main.command()
@click.argument("folder", type=click.Path(path_type=Path), required=False)
def report(folder: Path | None) -> None:
    """Draw the tables and figures of a result folder again (by default the newest)."""
    lab = settings.load()
    if folder and is_reference(folder):
        raise SpecError(
            f"FOLDER: {folder} is included in Doorbuster and cannot change; allowed: one of your "
            "results. `doorbuster reference-results` makes a reference again."
        )
    _report(ComparisonResult.open(folder) if folder else ComparisonResult.newest(lab.results_dir))


@main.command()
def publish() -> None:
    """Write every result of the results folder to PostgreSQL again.

    Grafana, psql and notebooks read them in the schema `results`. Rows of results that are no
    longer in the folder are deleted.
    """
    from lab.database.database import ResultsDatabase
    from lab.report.terminal import console

    lab = settings.load()
    with ResultsDatabase(lab) as database:
        database.prepare()
        count = database.publish(lab.results_dir, console.print)
    console.print(f"{count} results are in {lab.postgres_host}:{lab.postgres_port}, schema results")


@main.command("reference-results")
@click.argument("parts", metavar="[PART]...", nargs=-1)
@click.option("--quick", is_flag=True, help="Smaller grids: minutes instead of hours.")
@click.option("--fresh", is_flag=True, help="Make parts again that this code has made.")
def reference_results(parts: tuple[str, ...], quick: bool, fresh: bool) -> None:
    """Make the results that are included in Doorbuster, and keep them in lab/reference.

    PART: one or more of race, comparison, scoreboard, leaderboard, robustness, hysteresis, and the
    names of the papers that `reproduce` knows; all of them by default. Prints how long each takes.
    Interrupted, the same command resumes.
    """
    from lab.cli import reference_results as reference_making
    from lab.report.terminal import console

    known = [part.name for part in reference_making.PARTS]
    unknown = [name for name in parts if name not in known]
    if unknown:
        raise SpecError(f"PART: {unknown[0]!r} is unknown; allowed: {', '.join(known)}")
    reference_making.carry_out(parts, quick=quick, fresh=fresh, say=console.print)


@main.command()
@click.option("--markdown", is_flag=True, help="As docs/policies.md has it.")
def policies(markdown: bool) -> None:
    """List every policy with its idea, its rule and its parameters."""
    write = policy_sheets.as_markdown if markdown else policy_sheets.as_text
    click.echo(write(policy_sheets.sheets()), nl=False)


main.add_command(platform)
main.add_command(profile_connections)
main.add_command(reproduce)
main.add_command(estimates_command)
main.add_command(new_policy)
main.add_command(check_policy)
main.add_command(test_own)
main.add_command(scoreboard)


def _experiment(
    spec: Spec, *, fresh: bool, processes: int | None = None, broker: str | None = None
) -> None:
    """Carry out an experiment on the engine that it names, and report."""
    from lab.runner.comparison import compare as make

    result = make(spec, fresh=fresh, processes=processes, broker=broker)
    progress_file.tell(now=True, done_ratio=1.0, words="reading the logs, drawing the results")
    _report(result)
    stopwatch.end(settings.load())


def _report(folder: ComparisonResult) -> None:
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


main.add_command(leaderboard_command(_experiment))
