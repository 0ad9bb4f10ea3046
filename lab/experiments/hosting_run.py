"""One run of the hosting platform: its applications under load, and what became of it.

Owns: starting platform and load generators, the order of things. Must not know: which other runs
there are, what is drawn of them.
Times are paper seconds unless a name says real.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hosting import accounts
from hosting.errors import HostingError
from hosting.options import PlatformOptions
from hosting.platform import Platform
from hosting.running import RunningApplication
from hosting.template import name_of
from lab.experiments.customers import run_load
from lab.experiments.errors import ExperimentError
from lab.experiments.hosted_outcome import HostedApplication, Series, assigned, hosted_application
from lab.experiments.hosting_meter import HostingMeter
from runtime import cpus
from runtime.settings import Settings

_LOOK_EVERY_S = 0.5
_ENDED = "the run is ended"


@dataclass(frozen=True, slots=True)
class HostingRun:
    """What is asked for: a platform, who comes to each application, for how long.

    `loads`: (from_s, new sessions/s) of each application. Sessions under way at `duration_s` are
    cut.
    """

    options: PlatformOptions
    loads: Sequence[Sequence[tuple[float, float]]]
    duration_s: float
    interactions_mean: float
    interactions_most: int
    seed: int


@dataclass(frozen=True, slots=True)
class Hosted:
    """A run that was made. Shares are means over it, in processors."""

    applications: tuple[HostedApplication, ...]
    applications_cpus: float
    load_generator_cpus: float
    database_cpus: float | None
    """None where it is not this machine's own."""
    others_cpus: float
    """What everything else on the machine had."""


def make_hosting_run(
    lab: Settings, run: HostingRun, folder: Path, say: Callable[[str], None]
) -> Hosted:
    """Start the platform, load every application of it, end it; files go to `folder`.

    Raises ExperimentError; on any exception nothing is left running.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with Platform(lab, run.options, say) as platform:
            meter = HostingMeter(lab, platform)
            _load(platform, run, folder, say)
            shares, own_s = meter.read()
            entries = _accounts(platform) if run.options.provisioning == "ecm" else []
            planned = [one.plan.processors for one in platform.applications]
    except HostingError as fault:
        raise ExperimentError(str(fault)) from None
    return Hosted(
        tuple(
            hosted_application(
                folder / f"attempts-{i + 1}.parquet",
                duration_s=run.duration_s,
                processors=_processors(run, entries, i, planned[i]),
                cpu_s=cpu_s,
            )
            for i, cpu_s in enumerate(own_s)
        ),
        *shares,
    )


def _processors(
    run: HostingRun, entries: Sequence[Mapping[str, Any]], i: int, planned: float
) -> Callable[[float], Series] | float:
    """Those of application `i`: as the CPU manager accounted for them, or the same all the time."""
    options = run.options
    if options.provisioning != "ecm":
        return planned or float(len(options.processors))
    name = name_of(i + 1)
    return lambda began_at: assigned(
        entries, name, began_at, options.time_scale, round(run.duration_s)
    )


# ---- load ----------------------------------------------------------------------------------------


def _load(platform: Platform, run: HostingRun, folder: Path, say: Callable[[str], None]) -> None:
    """A load generator for each application, all at once, until all have ended."""
    over = threading.Event()
    faults: list[ExperimentError] = []

    def progress(line: Mapping[str, Any]) -> None:
        if over.is_set():
            raise ExperimentError(_ENDED)

    def play(i: int, application: RunningApplication) -> None:
        try:
            run_load(
                application.https_url,
                tuple(sorted(cpus.usable())),
                _options(run, i, application, folder / f"attempts-{i + 1}.parquet"),
                folder / f"loadgen-{i + 1}.log",
                progress,
            )
        except ExperimentError as fault:
            faults.append(fault)
            over.set()

    players = [
        threading.Thread(target=play, args=(i, application), name=f"load on {application.name}")
        for i, application in enumerate(platform.applications)
    ]
    for player in players:
        player.start()
    try:
        while any(player.is_alive() for player in players):
            platform.check()
            for player in players:
                player.join(_LOOK_EVERY_S)
    finally:
        over.set()
        for player in players:
            player.join()
    if faults:
        raise next((fault for fault in faults if str(fault) != _ENDED), faults[0])


def _options(
    run: HostingRun, i: int, application: RunningApplication, file: Path
) -> dict[str, object]:
    schedule = [*run.loads[i], (run.duration_s, 0.0)]
    return {
        "partly-open": True,
        "sessions-schedule": ",".join(f"{at_s:.3f}:{rate:.6f}" for at_s, rate in schedule),
        "stop-s": run.duration_s,
        "authority": application.authority,
        "interactions-mean": run.interactions_mean,
        "interactions-most": run.interactions_most,
        "time-scale": run.options.time_scale,
        # Applications have customers of their own.
        "seed": run.seed * 100 + i,
        "attempts-file": file,
    }


def _accounts(platform: Platform) -> list[dict[str, Any]]:
    try:
        return [dict(entry) for entry in accounts.read(platform.accounts)]
    except OSError as fault:
        raise ExperimentError(
            f"The CPU manager's accounts {platform.accounts} cannot be read ({fault.strerror})."
        ) from None
