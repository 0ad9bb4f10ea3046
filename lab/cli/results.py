"""The commands `doorbuster results …`, except `export` and `import`."""

from pathlib import Path
from typing import Any

import click

from lab.cli.command import AS_JSON, LabCommand, print_json
from lab.cli.experiment_options import completing
from lab.cli.server import client_of, of_server, rows_of
from lab.errors import ExperimentError, SpecError
from lab.files.documents import MOST_BYTES, read_json, text_of
from lab.results import reference as references
from lab.results.comparison import ComparisonResult
from lab.results.reference import is_reference
from lab.results.result import is_imported
from lab.results.study import reproduction_title
from runtime import settings

_REPRODUCTION = "reproduction.json"


def _folders() -> list[Path]:
    """Return the folders of this machine's results, newest first, then the included results."""
    here = settings.load().results_dir
    found = {
        path.parent for name in ("plan.json", _REPRODUCTION) for path in here.glob(f"*/{name}")
    }
    shown = [path for path in sorted(found, reverse=True) if not path.name.startswith(".")]
    return [*shown, *references.folders()]


_complete = completing(lambda: (path.name for path in _folders()))


def _listed(name: str) -> Path | None:
    return next((path for path in _folders() if path.name == name), None)


def _named(name: str) -> Path:
    path = _listed(name) or Path(name)
    if not (path / "plan.json").is_file() and not (path / _REPRODUCTION).is_file():
        raise SpecError(
            "NAME", f"there is no result {name!r}", allowed="a name from `doorbuster results list`"
        )
    return path


def _described(path: Path) -> dict[str, Any]:
    origin = "included" if is_reference(path) else "imported" if is_imported(path) else "here"
    facts = {"name": path.name, "path": str(path), "origin": origin}
    try:
        if (path / _REPRODUCTION).is_file():
            made = read_json(path / _REPRODUCTION)
            title = reproduction_title(path.name, made)
            told = {"kind": "reproduction", "engine": made["engine"], "title": title}
        else:
            spec = ComparisonResult(path).spec()
            told = {"kind": "comparison", "engine": spec.engine, "title": spec.title}
    except (ExperimentError, AttributeError, KeyError, TypeError) as fault:
        told = {"kind": "damaged", "engine": "", "title": str(fault)}
    return facts | told


@click.command("list", cls=LabCommand)
@of_server(required=False)
@AS_JSON
def listed(
    server: str | None, token_file: Path | None, authority: Path | None, as_json: bool
) -> None:
    """List the results of this machine or of a console from the newest to the oldest, then the
    included results."""
    if server is None:
        rows = [_described(path) for path in _folders()]
    else:
        with client_of(server, token_file, authority) as client:
            rows = [dict(row) for row in rows_of(client)]
    if as_json:
        print_json(rows)
        return
    width = max((len(row["name"]) for row in rows), default=0)
    for row in rows:
        click.echo(f"{row['name']:{width}}  {row['origin']:9}  {row['engine']:9}  {row['title']}")


@click.command(cls=LabCommand)
@click.argument("name", shell_complete=_complete)
@AS_JSON
def show(name: str, as_json: bool) -> None:
    """Print the tables of a comparison, or the claims of a reproduction.

    NAME is a name from `doorbuster results list`, or the path of a result folder. With --json, the
    output has the facts that `doorbuster results list` shows, and also the spec and tables of a
    comparison, or the claims of a reproduction.
    """
    path = _named(name)
    facts = _described(path)
    is_comparison = facts["kind"] == "comparison"
    content = path / ("tables.json" if is_comparison else "claims.json")
    if facts["kind"] == "damaged":
        raise ExperimentError(f"{path} is damaged: {facts['title']}")
    if not content.is_file():
        command = "`doorbuster results draw`" if is_comparison else "`doorbuster reproduce`"
        raise ExperimentError(f"{path} has no {content.name} yet; create it with {command}.")
    if as_json:
        facts[content.stem] = read_json(content)
        if is_comparison:
            facts["spec"] = ComparisonResult(path).spec().model_dump(mode="json")
        print_json(facts)
    elif is_comparison:
        click.echo(text_of(path / "tables.md", MOST_BYTES), nl=False)
    else:
        for row in read_json(content):
            click.echo(f"{row['Holds']}: {row['Claim']}: {row['Found']}")


@click.command(cls=LabCommand)
@click.argument("folder", type=click.Path(path_type=Path), required=False, shell_complete=_complete)
def draw(folder: Path | None) -> None:
    """Draw the tables and figures of a comparison again; by default, of the newest comparison.

    FOLDER is a name from `doorbuster results list`, or the path of a result folder.
    """
    lab = settings.load()
    folder = folder and (_listed(str(folder)) or folder)
    if folder and is_reference(folder):
        raise SpecError(
            "FOLDER",
            f"{folder} is included in Doorbuster and cannot change",
            allowed="one of your results. `doorbuster results reference` makes the included "
            "results again.",
        )
    from lab.cli.experiments import report

    report(ComparisonResult.open(folder) if folder else ComparisonResult.newest(lab.results_dir))


@click.command(cls=LabCommand)
def publish() -> None:
    """Write every comparison of the results folder to PostgreSQL again.

    Grafana, psql and notebooks read the schema `results`. The rows of a comparison that no longer
    exists in the folder are deleted.
    """
    from lab.database.database import ResultsDatabase
    from lab.report.terminal import console

    lab = settings.load()
    with ResultsDatabase(lab) as database:
        database.prepare()
        count = database.publish(lab.results_dir, console.print)
    where = f"{lab.postgres_host}:{lab.postgres_port}"
    console.print(f"Comparisons in PostgreSQL ({where}, schema results): {count}")


@click.command(cls=LabCommand)
@click.argument("parts", metavar="[PART]...", nargs=-1)
@click.option(
    "--quick",
    is_flag=True,
    help="Use smaller grids, so that the command takes minutes instead of hours.",
)
@click.option(
    "--fresh", is_flag=True, help="Run parts again, even if the present code has already made them."
)
def reference(parts: tuple[str, ...], quick: bool, fresh: bool) -> None:
    """Run the experiments whose results are included in Doorbuster, and store the results in
    lab/reference.

    PART is one or more of race, comparison, scoreboard, leaderboard, robustness, hysteresis, and
    the names of papers that `reproduce` accepts. By default, all parts run. To resume after an
    interruption, repeat the command.
    """
    from lab.cli import reference_results as reference_making
    from lab.report.terminal import console

    known = [part.name for part in reference_making.PARTS]
    unknown = [name for name in parts if name not in known]
    if unknown:
        raise SpecError("PART", f"{unknown[0]!r} is unknown", allowed=", ".join(known))
    reference_making.carry_out(parts, quick=quick, fresh=fresh, say=console.print)
