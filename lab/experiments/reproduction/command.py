"""The command `doorbuster reproduce`.

Owns: its options, what it says while it works. Must not know: any figure, how a case is simulated.
"""

import os
import time
from pathlib import Path
from typing import Any

import click

from lab.experiments.durations import duration
from lab.experiments.errors import SpecError
from lab.experiments.spreading import FRESH, broker_of, spread
from runtime import settings

PAPERS = ("lifo-pri", "sbac", "connection-sentry", "ad-server", "edragon")
"""As in `studies.PAPERS`, which draws in the simulator: only who reproduces pays for that."""


@click.command()
@click.argument("paper", type=click.Choice(PAPERS))
@click.option(
    "--engine",
    type=click.Choice(["simulated", "live"]),
    help="In virtual time, or on the running appliance; simulated by default, connection-sentry "
    "live. ad-server: live only, on an ad server of its own.",
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
    help="ad-server only: contracts that it searches; 300,000 by default.",
)
def reproduce(paper: str, engine: str | None, **given: Any) -> None:
    """Reproduce a paper's figures and tables, published beside reproduced.

    Writes an HTML report with figures, tables and the data behind them, and says what of the
    paper holds. Interrupted, the same command resumes.
    """
    from lab.experiments.reproduction.studies import PAPERS as STUDIES

    if engine == "simulated" and not STUDIES[paper].simulated:
        raise SpecError(f"--engine {engine}: {paper} has no simulator; allowed: live")
    if given["banners"] is not None and paper != "ad-server":
        raise SpecError("--banners: is for ad-server; allowed: without it")
    if (engine or STUDIES[paper].engine) == "live":
        _live(paper, given)
    else:
        _simulated(paper, given)


def _simulated(paper: str, given: dict[str, Any]) -> None:
    from lab.experiments.reproduction import making
    from lab.experiments.reproduction.studies import PAPERS as STUDIES
    from lab.experiments.terminal import GridProgress, console

    lab = settings.load()
    if given["logs"] and given["celery"] is not None:
        raise SpecError(
            "--logs: files stay on the machine that simulates; allowed: without --celery"
        )
    known, quick = STUDIES[paper], given["quick"]
    options = making.Options(
        quick=quick,
        seed=given["seed"],
        repetitions=given["repetitions"] or known.repetitions_of("simulated", quick=quick),
        processes=given["processes"] or len(os.sched_getaffinity(0)),
        celery_broker=broker_of(given["celery"]),
        fresh=given["fresh"],
        logs=given["logs"],
    )
    planned = making.prepare(known.study(quick=quick), lab.results_dir, options)
    done = len(planned.simulations) - len(planned.missing)
    if planned.resumed:
        console.print(f"Resuming: {done} of {len(planned.simulations)} simulations are done.")
    # How fast other machines are is not known here.
    expected = (
        "" if options.celery_broker else f", about {duration(making.expected_real_s(planned))}"
    )
    console.print(
        f"{len(planned.missing)} simulations on {options.where}{expected}. "
        f"Interrupted, the same command resumes.\nResults: {planned.store.path}"
    )
    began_s = time.monotonic()
    sizes = [simulation.case.expected_requests() for simulation in planned.missing]
    with GridProgress(sizes) as progress:
        making.carry_out(planned, progress.done)
    took_s = time.monotonic() - began_s
    page = making.finish(planned, lab, took_s)
    _end(page.parent)
    console.print(f"Simulated in {took_s / 60:.1f} minutes.\nReport: {page}")


def _live(paper: str, given: dict[str, Any]) -> None:
    from lab.experiments.reproduction.studies import PAPERS as STUDIES

    otherwise = "--engine simulated" if STUDIES[paper].simulated else "without it"
    for option in ("processes", "celery", "logs"):
        if given[option] not in (None, False):
            raise SpecError(
                f"--{option}: is for simulations, live runs are made here one at a time and keep "
                f"their logs; allowed: {otherwise}"
            )
    if paper == "ad-server":  # no comparison on the appliance, but a server and clients of its own
        from lab.experiments.reproduction.ad_server_live import reproduce_ad_server

        page = reproduce_ad_server(given)
    elif paper == "edragon":  # nor here: hosting platforms, one after another
        from lab.experiments.reproduction.edragon_live import reproduce_edragon

        page = reproduce_edragon(given)
    else:
        from lab.experiments.reproduction.live import reproduce_live

        page = reproduce_live(paper, given)
    _end(page.parent)


def _end(folder: Path) -> None:
    """The report of `folder` is written: whoever launched it is led there; its claims are said."""
    from lab.experiments.progress_file import progress_file
    from lab.experiments.results import read_json
    from lab.experiments.terminal import console

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
