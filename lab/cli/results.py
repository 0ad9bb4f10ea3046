"""The commands `doorbuster results …`: what was made here, and what is included."""

from pathlib import Path

import click

from lab.cli.faults import LabCommand
from lab.errors import SpecError
from lab.results.comparison import ComparisonResult
from lab.results.reference import is_reference
from runtime import settings


@click.command(cls=LabCommand)
@click.argument("folder", type=click.Path(path_type=Path), required=False)
def draw(folder: Path | None) -> None:
    """Draw the tables and figures of a result folder again (by default the newest)."""
    lab = settings.load()
    if folder and is_reference(folder):
        raise SpecError(
            f"FOLDER: {folder} is included in Doorbuster and cannot change; allowed: one of your "
            "results. `doorbuster results reference` makes a reference again."
        )
    from lab.cli.experiments import report

    report(ComparisonResult.open(folder) if folder else ComparisonResult.newest(lab.results_dir))


@click.command(cls=LabCommand)
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


@click.command(cls=LabCommand)
@click.argument("parts", metavar="[PART]...", nargs=-1)
@click.option("--quick", is_flag=True, help="Smaller grids: minutes instead of hours.")
@click.option("--fresh", is_flag=True, help="Make parts again that this code has made.")
def reference(parts: tuple[str, ...], quick: bool, fresh: bool) -> None:
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
