"""The command `doorbuster`: what make targets and the console call, and nothing else does.

Owns: commands, options, exit statuses. Must not know: how a run is made.
"""

import signal
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from gateway.policies.registry import POLICIES
from lab.experiments import capacity as capacities
from lab.experiments import comparison, policy_sheets
from lab.experiments.appliance import Appliance, is_loopback
from lab.experiments.errors import ExperimentError
from lab.experiments.live_run import make_run
from lab.experiments.machine import describe_machine, describe_versions, live_run_lock
from lab.experiments.results import ResultFolder, newest, unfinished
from lab.experiments.spec import PolicyChoice, Spec, changed, load_spec
from runtime import settings


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
            sys.exit(1)
        except KeyboardInterrupt:
            click.echo("\nInterrupted.", err=True)
            sys.exit(130)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Overload-control experiments: run them, compare policies, draw the results."""


def _floats(_: click.Context, option: click.Parameter, text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise click.BadParameter(f"{text!r}: allowed: numbers, e.g. 0.85,1.4,2") from None


def _names(_: click.Context, option: click.Parameter, text: str | None) -> list[str] | None:
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if unknown := [name for name in names if name not in POLICIES]:
        raise click.BadParameter(f"{unknown[0]!r} is unknown; allowed: {', '.join(POLICIES)}")
    return names


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option("--policies", callback=_names, help="Policies, e.g. sq,8q-af,8q-lifo-pri."),
    click.option("--rho", callback=_floats, help="Offered loads, e.g. 0.85,1.4,2."),
    click.option("--sessions", type=int, help="Sessions started in each run."),
    click.option("--repetitions", type=int, help="Runs of every policy and ρ, each its own seed."),
    click.option("--seed", type=int, help="Seed of the first repetition."),
    click.option("--time-scale", type=float, help="Paper seconds per real second."),
    click.option("--page-profile", type=click.Choice(["paper", "real"]), help="Page work."),
)


def _overridable(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def _with_options(spec: Spec, given: dict[str, Any]) -> Spec:
    """`spec` with the command line's options over it."""
    names = given.get("policies")
    known = {policy.name: policy for policy in spec.policy}
    policies = names and [
        known.get(name, PolicyChoice(name=name)).model_dump(mode="json") for name in names
    ]
    return changed(
        spec,
        policy=policies,
        load__rho=given.get("rho"),
        load__sessions=given.get("sessions"),
        repetitions=given.get("repetitions"),
        seed=given.get("seed"),
        time_scale=given.get("time_scale"),
        page_profile=given.get("page_profile"),
    )


@main.command()
@click.option("--full", is_flag=True, help="The acceptance run: three loads, three repetitions.")
@click.option("--spec", "spec_name", help="A spec file, or the name of one that comes along.")
@click.option("--fresh", is_flag=True, help="Begin anew, even where a comparison was interrupted.")
@_overridable
def compare(full: bool, spec_name: str | None, fresh: bool, **given: Any) -> None:
    """Compare policies against the same rush of impatient customers.

    Measures capacity first, makes the runs in random order, prints Tables 4 and 5 with the
    published figures beside the measured ones, and writes a result folder. Interrupted, the same
    command resumes.
    """
    if full and spec_name:
        raise click.UsageError("--full and --spec name two specs; give one of them")
    spec = load_spec(spec_name or ("lifo-pri-full" if full else "lifo-pri"))
    _compare(_with_options(spec, given), fresh=fresh)


@main.command()
@click.argument("spec_name", metavar="SPEC")
@click.option("--fresh", is_flag=True, help="Begin anew, even where it was interrupted.")
@_overridable
def run(spec_name: str, fresh: bool, **given: Any) -> None:
    """Run the experiment of a spec file (or of one that comes along, by name)."""
    _compare(_with_options(load_spec(spec_name), given), fresh=fresh)


@main.command()
@click.option("--time-scale", type=float, help="Paper seconds per real second.")
@click.option("--page-profile", type=click.Choice(["paper", "real"]), help="Page work.")
@click.option("--seed", type=int, help="Seed of the first of the three measurements.")
def capacity(**given: Any) -> None:
    """Measure how many requests the shop can serve: closed loop, median of three."""
    from lab.experiments.terminal import console

    spec = _with_options(Spec(), given)
    lab = settings.load()
    appliance = Appliance(lab)
    with live_run_lock():
        appliance.check()
        measured = _measure_capacity(spec, appliance)
        path = capacities.keep(measured, lab)
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
@click.option("--markdown", is_flag=True, help="As docs/policies.md has it.")
def policies(markdown: bool) -> None:
    """List every policy with its idea, its rule and what can be set."""
    write = policy_sheets.as_markdown if markdown else policy_sheets.as_text
    click.echo(write(policy_sheets.sheets()), nl=False)


def _compare(spec: Spec, *, fresh: bool) -> None:
    from lab.experiments.terminal import RunProgress, console, duration

    lab = settings.load()
    appliance = Appliance(lab)
    if not is_loopback(appliance.url):
        raise ExperimentError(
            f"{appliance.url}: load goes to loopback only; "
            "set DOORBUSTER_HOST to 127.0.0.1 or 0.0.0.0 and `make up` again."
        )
    with live_run_lock():
        appliance.check()
        folder = None if fresh else unfinished(lab.results_dir, spec)
        if folder:
            done = len(folder.whole_runs())
            console.print(f"Resuming {folder.path}: {done} of {len(folder.plan())} runs are done.")
            if folder.facts("machine") != describe_machine(lab):
                raise ExperimentError(
                    f"{folder.path} was begun on another machine or other settings; "
                    "begin anew with --fresh."
                )
        else:
            folder = _begin(spec, appliance)
        measured = capacities.from_json(folder.facts("capacity"))
        todo = comparison.missing(folder)
        expected = [
            comparison.expected_real_s(spec, [planned], measured.median_rps) for planned in todo
        ]
        console.print(
            f"{len(todo)} runs of {spec.load.sessions} sessions at time scale "
            f"{spec.time_scale:g}, {duration(sum(expected))}. Interrupted, the same command "
            f"resumes.\nResults: {folder.path}"
        )
        with RunProgress(sum(expected)) as progress:
            for planned, real_s in zip(todo, expected, strict=True):
                title = f"{planned.policy} at ρ = {planned.rho:g}, seed {planned.seed}"
                title = f"[{planned.number}/{len(folder.plan())}] {title}"
                step = progress.run(title, real_s)
                made = make_run(
                    appliance, spec, planned, measured.median_rps, folder.run(planned), step
                )
                progress.say(
                    f"{title}: {100 * made['completed_ratio']:.1f} % completed, "
                    f"{made['confirms']} confirms"
                    + ("" if made["reconciles"] else "; COUNTS DO NOT RECONCILE")
                )
    _report(folder)


def _begin(spec: Spec, appliance: Appliance) -> ResultFolder:
    from lab.experiments.terminal import console

    measured = _measure_capacity(spec, appliance)
    capacities.keep(measured, appliance.lab)
    console.print(f"Capacity: {measured.median_rps:.2f} requests per paper second")
    facts = {
        "machine": describe_machine(appliance.lab),
        "versions": describe_versions(),
        "capacity": asdict(measured),
    }
    return ResultFolder.create(appliance.lab.results_dir, spec, facts, comparison.plan(spec))


def _measure_capacity(spec: Spec, appliance: Appliance) -> capacities.Capacity:
    from lab.experiments.terminal import console, duration

    real_s = capacities.expected_real_s(spec.time_scale)
    console.print(f"Measuring the shop's capacity, {duration(real_s)}")
    return capacities.measure(
        appliance,
        page_profile=spec.page_profile,
        time_scale=spec.time_scale,
        seed=spec.seed,
        on_progress=console.print,
    )


def _report(folder: ResultFolder) -> None:
    # matplotlib takes a second to import: only who draws pays for it.
    from lab.experiments.figures import draw_figures
    from lab.experiments.tables import honesty, read_cells, write_tables
    from lab.experiments.terminal import console, show

    cells = read_cells(folder)
    if not cells:
        raise ExperimentError(f"{folder.path} has no complete run yet.")
    for table in reversed(write_tables(folder, cells)):
        show(table)
    for line in honesty(cells):
        console.print(line)
    for path in draw_figures(folder, cells):
        console.print(f"Figure: {path} (and .svg)")
    console.print(f"Tables: {folder.path / 'tables.md'}")


if __name__ == "__main__":
    main()
