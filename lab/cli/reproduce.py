"""The command `doorbuster reproduce`: its options, and what it prints while it works."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lab.cli.executor_options import FRESH, broker_of, spread
from lab.errors import SpecError
from lab.machine import speeds
from lab.runner.estimates import IDLE, command_name, cpus_here, of_command
from lab.runner.stopwatch import stopwatch
from lab.studies.registry import PAPERS
from runtime import settings

if TYPE_CHECKING:
    from lab.studies.study import PaperStudy

_SOME_PAPERS_OPTIONS = ("banners",)
"""Options that a paper has if its study names them."""


@click.command()
@click.argument("paper", type=click.Choice(list(PAPERS)))
@click.option(
    "--engine",
    type=click.Choice(["simulated", "live"]),
    help="In virtual time, or live on this machine. docs/reproductions.md names the default of "
    "each paper.",
)
@click.option(
    "--quick",
    is_flag=True,
    help="A smaller grid: under two minutes on two cores, live docs/reproductions.md.",
)
@FRESH
@click.option(
    "--repetitions",
    type=click.IntRange(1, 1000),
    help="Simulations or runs of each case, own seeds.",
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="The first.")
@spread
@click.option("--logs", is_flag=True, help="Keep attempts.parquet of every simulation.")
@click.option(
    "--banners",
    type=click.IntRange(1000, 2_000_000),
    help="Contracts that an ad server searches; 300,000 by default. Only for its paper.",
)
def reproduce(paper: str, engine: str | None, **given: Any) -> None:
    """Reproduce a paper's figures and tables, published beside reproduced.

    Writes an HTML report with figures, tables and the data behind them, and says what of the
    paper holds. Interrupted, the same command resumes.
    """
    study = PAPERS[paper]
    if engine is not None and engine not in study.engines:
        raise SpecError(
            f"--engine {engine}: {paper} has no simulator; allowed: {', '.join(study.engines)}"
        )
    for option in _SOME_PAPERS_OPTIONS:
        if given[option] is not None and option not in study.options:
            known = [name for name in PAPERS if option in PAPERS[name].options]
            raise SpecError(
                f"--{option}: is for {', '.join(known) or 'no paper'}; allowed: without it"
            )
    if (engine or study.default_engine) == "live":
        _live(study, given)
    else:
        _simulated(study, given)


def _simulated(study: "PaperStudy[Any]", given: dict[str, Any]) -> None:
    from lab.report.terminal import GridProgress, console
    from lab.runner import simulations as making
    from lab.studies.measures import simulate_case

    lab = settings.load()
    if given["logs"] and given["celery"] is not None:
        raise SpecError(
            "--logs: files stay on the machine that simulates; allowed: without --celery"
        )
    quick = given["quick"]
    options = making.Options(
        simulate=simulate_case,
        quick=quick,
        seed=given["seed"],
        repetitions=given["repetitions"] or study.repetitions("simulated", quick=quick),
        processes=given["processes"] or len(os.sched_getaffinity(0)),
        celery_broker=broker_of(given["celery"]),
        fresh=given["fresh"],
        logs=given["logs"],
    )
    planned = making.prepare(study.build("simulated", quick=quick), lab.results_dir, options)
    done = len(planned.simulations) - len(planned.missing)
    if planned.resumed:
        console.print(f"Resuming: {done} of {len(planned.simulations)} simulations are done.")
    # How fast other machines are is not known here.
    estimate = None if options.celery_broker else making.expected(planned, lab)
    expected = "" if estimate is None else f", {estimate.words} with the report, {IDLE}"
    console.print(
        f"{len(planned.missing)} simulations on {options.where}{expected}. "
        f"Interrupted, the same command resumes.\nResults: {planned.store.path}"
    )
    making.begin(planned, estimate)
    began_s = time.monotonic()
    sizes = [simulation.case.expected_requests() for simulation in planned.missing]
    with GridProgress(sizes) as progress:
        making.carry_out(planned, progress.done)
    took_s = time.monotonic() - began_s
    page = making.finish(planned, lab, took_s)
    _end(page.parent)
    stopwatch.end(lab)
    console.print(f"Simulated in {took_s / 60:.1f} minutes.\nReport: {page}")


def _live(study: "PaperStudy[Any]", given: dict[str, Any]) -> None:
    from lab.report.terminal import console

    otherwise = "--engine simulated" if "simulated" in study.engines else "without it"
    for option in ("processes", "celery", "logs"):
        if given[option] not in (None, False):
            raise SpecError(
                f"--{option}: is for simulations, live runs are made here one at a time and keep "
                f"their logs; allowed: {otherwise}"
            )
    lab = settings.load()
    default = study.default_engine == "live"
    quick = ["--quick"] if given["quick"] else []
    arguments = ["reproduce", study.name, *([] if default else ["--engine", "live"]), *quick]
    name = command_name(arguments)
    estimate = of_command(arguments, speeds.load(lab), processes=cpus_here())
    if estimate is not None:
        console.print(f"All of it takes {estimate.words}, {IDLE}.")
    stopwatch.expect(name, estimate)
    with stopwatch.live():
        page = study.reproduce_live(given)
    _end(page.parent)
    options = (given[option] for option in ("repetitions", *_SOME_PAPERS_OPTIONS))
    if all(value is None for value in options) and stopwatch.is_new:
        stopwatch.spent(f"live {name}", 1, stopwatch.real_s)
    stopwatch.end(lab)


def _end(folder: Path) -> None:
    """Name the folder in the progress file, and print how many claims hold."""
    from lab.files.documents import read_json
    from lab.machine.progress_file import progress_file
    from lab.report.terminal import console

    # Not before: until then the folder told is that of the comparison under way, if there is one.
    progress_file.tell(now=True, folder=str(folder))
    rows = read_json(folder / "claims.json")
    held = [row for row in rows if row["Holds"] == "yes"]
    console.print(f"{len(held)} of {len(rows)} claims hold.")
    for row in rows:
        if row["Holds"] != "yes":
            console.print(
                f"  {row['Holds']}: {row['Claim']}: {row['Found']} (required: {row['Required']})"
            )
