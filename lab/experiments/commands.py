"""The commands of `doorbuster`: what make targets and the console call, and nothing else does.

Owns: commands and exit statuses: 0 done, 1 a run failed, 2 what was asked for cannot be meant,
130 interrupted. Must not know: how a run is made.
"""

import errno
import signal
import sys
from pathlib import Path
from typing import Any

import click

from lab.experiments import policy_sheets
from lab.experiments.broker import checked
from lab.experiments.errors import ExperimentError, SpecError
from lab.experiments.experiment_options import (
    PAGE_PROFILE,
    SEED,
    TIME_SCALE,
    overridable,
    with_options,
)
from lab.experiments.leaderboard.command import leaderboard_command
from lab.experiments.platform_command import platform
from lab.experiments.profile_command import profile_connections
from lab.experiments.reproduction.command import reproduce
from lab.experiments.results import ResultFolder, newest
from lab.experiments.spec import Spec, load_spec
from lab.experiments.spreading import FRESH, broker_of, spread
from lab.experiments.students.command import check_policy, new_policy, scoreboard
from runtime import settings

_CANNOT_BE_WRITTEN = {
    *(errno.EACCES, errno.EPERM, errno.EROFS),
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG),
}
"""A folder that one may not write, or a full disk: what a person can mend."""


class _Commands(click.Group):
    """Shows what is wrong as one line, never as a traceback; Ctrl-C ends with status 130."""

    def invoke(self, ctx: click.Context) -> Any:
        # Whoever ends the command politely gets what Ctrl-C gets: the load ended, the folder kept.
        # A shell's background jobs are born deaf to Ctrl-C; this one shall hear it all the same.
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

    SPEC is a spec file, or the name of one that comes along; without it LIFO-Pri, Tables 4 and 5.
    Measures capacity first, makes the runs in random order, prints the tables, with published
    figures beside the measured ones where there are any, and writes a result folder. Interrupted,
    the same command resumes.
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
    """Run the experiment of a spec file (or of one that comes along, by name)."""
    spec = with_options(load_spec(spec_name), given)
    if spec.engine == "live" and (processes is not None or celery is not None):
        option = "--processes" if celery is None else "--celery"
        raise SpecError(
            f"{option}: live runs are made here, one at a time; allowed: simulated ones"
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

    The same policies and customers, a modelled server, virtual time: seconds instead of hours.
    Without SPEC: LIFO-Pri, Tables 4 and 5.
    """
    spec = with_options(load_spec(spec_name), {**given, "engine": "simulated"})
    _experiment(spec, fresh=fresh, processes=processes, broker=broker_of(celery))


@main.command()
@click.option("--broker", help="redis://…; by default DOORBUSTER_GRID_BROKER.")
@click.option("--processes", type=click.IntRange(1), help="Tasks at a time; as many as CPUs.")
def worker(broker: str | None, processes: int | None) -> None:
    """Make simulated runs for others: for `--celery`, on this machine or another."""
    from lab.experiments.farm import serve

    serve(checked(broker or settings.load().simulations_broker, "--broker"), processes)


@main.command()
@TIME_SCALE
@PAGE_PROFILE
@SEED
def capacity(**given: Any) -> None:
    """Measure how many requests the shop can serve: closed loop, median of three."""
    from lab.experiments import capacity as capacities
    from lab.experiments.live_comparison import measure_capacity, running_appliance
    from lab.experiments.machine import live_run_lock
    from lab.experiments.surroundings import surroundings
    from lab.experiments.terminal import console

    spec = with_options(Spec(), given)
    appliance = running_appliance(settings.load())
    with live_run_lock(), surroundings(appliance, spec):
        measured = measure_capacity(spec, [appliance])
        path = capacities.keep(measured, appliance.lab)
    each = ", ".join(f"{rps:.3f}" for rps in measured.measurements_rps)
    console.print(f"Capacity {measured.median_rps:.3f} requests per paper second (of {each})")
    console.print(f"Kept in {path}")


@main.command()
@click.argument("folder", type=click.Path(path_type=Path), required=False)
def report(folder: Path | None) -> None:
    """Draw tables and figures of a result folder again (the newest one by default)."""
    lab = settings.load()
    _report(ResultFolder.open(folder) if folder else newest(lab.results_dir))


@main.command()
def publish() -> None:
    """Write every result that lies in the results folder to PostgreSQL, afresh.

    Schema `results`, for Grafana, psql and notebooks. What is there and not in the folder goes.
    """
    from lab.experiments.results_database import ResultsDatabase
    from lab.experiments.terminal import console

    lab = settings.load()
    with ResultsDatabase(lab) as database:
        database.prepare()
        count = database.publish(lab.results_dir, console.print)
    console.print(f"{count} results are in {lab.postgres_host}:{lab.postgres_port}, schema results")


@main.command()
@click.option("--markdown", is_flag=True, help="As docs/policies.md has it.")
def policies(markdown: bool) -> None:
    """List every policy with its idea, its rule and what can be set."""
    write = policy_sheets.as_markdown if markdown else policy_sheets.as_text
    click.echo(write(policy_sheets.sheets()), nl=False)


main.add_command(platform)
main.add_command(profile_connections)
main.add_command(reproduce)
main.add_command(new_policy)
main.add_command(check_policy)
main.add_command(scoreboard)


def _experiment(
    spec: Spec, *, fresh: bool, processes: int | None = None, broker: str | None = None
) -> None:
    """Carry it out on the engine it names, and report."""
    if spec.engine == "simulated":
        from lab.experiments.simulated_comparison import compare_simulated

        folder = compare_simulated(spec, fresh=fresh, processes=processes, broker=broker)
    else:
        from lab.experiments.live_comparison import compare_live

        folder = compare_live(spec, fresh=fresh)
    _report(folder)


def _report(folder: ResultFolder) -> None:
    # matplotlib takes a second to import: only who draws pays for it.
    from lab.experiments.cells import read_cells
    from lab.experiments.figures import draw_figures
    from lab.experiments.honesty import honesty
    from lab.experiments.tables import write_tables
    from lab.experiments.terminal import console, show

    cells = read_cells(folder)
    if not cells:
        raise ExperimentError(f"{folder.path} has no complete run yet.")
    if folder.spec().leaderboard:
        from lab.experiments.leaderboard.saying import say_board

        say_board(folder, cells)
        return
    for table in reversed(write_tables(folder, cells)):
        show(table)
    for line in honesty(cells):
        console.print(line)
    for path in draw_figures(folder, cells):
        console.print(f"Figure: {path} (and .svg)")
    console.print(f"Tables: {folder.path / 'tables.md'}")


main.add_command(leaderboard_command(_experiment))
