"""One run of the hosting platform: its applications under load, and their results.

Times are paper seconds unless their name contains `real`.
"""

import resource
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from common import cpus
from hosting import processes
from hosting.ecm import accounts
from hosting.options import PlatformOptions
from hosting.platform import Platform
from hosting.running import RunningApplication
from hosting.starting import HostingError
from hosting.template import name_of
from lab.engines.hosted.outcome import HostedApplication, Series, assigned, hosted_application
from lab.engines.load_generators import LoadGenerator, run_loads
from lab.errors import ExperimentError
from lab.spec.runs import Host, PlatformRun
from loadgen.plan import LoadPlan, PartlyOpen, PlanError
from loadgen.workload.load_schedule import RateStep
from loadgen.workload.partly_open import PartlyOpenModel
from loadgen.workload.refusals import SessionModelError
from runtime.settings import Settings
from runtime.state import State


@dataclass(frozen=True, slots=True)
class Hosted:
    """The results of a completed run."""

    applications: tuple[HostedApplication, ...]
    cpus: Mapping[str, float | None]
    """The mean number of processors in use during the run, for the `applications`, the
    `load_generator`, the `database` and all `others`. The value of the database is None unless
    `make up` started the database natively on this machine.
    """


def make_hosted_run(
    lab: Settings, run: PlatformRun, seed: int, folder: Path, say: Callable[[str], None]
) -> Hosted:
    """Start the platform, send load to all its applications, stop the platform, and write the files
    to `folder`. Raises ExperimentError if a part fails; no process remains after an exception.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        options = platform_options(run, seed)
        with Platform(lab, options, say) as platform:
            meter = HostingMeter(lab, platform)
            _load(platform, run, seed, folder)
            used = meter.cpus()
            entries = _accounts(platform) if run.provisioning == "ecm" else []
            planned = [one.plan.processors for one in platform.applications]
    except HostingError as fault:
        raise ExperimentError(str(fault)) from None
    return Hosted(
        tuple(
            hosted_application(
                folder / f"attempts-{i + 1}.parquet",
                duration_s=run.duration_s,
                processors=_processors(run, options, entries, i, processors),
            )
            for i, processors in enumerate(planned)
        ),
        used,
    )


def platform_options(run: PlatformRun, seed: int) -> PlatformOptions:
    """Return the platform's options for a run; raises HostingError if one of them is invalid."""
    host = _host(run)
    return PlatformOptions(
        applications=len(run.loads),
        time_scale=host.time_scale,
        priorities=run.priorities,
        provisioning=run.provisioning,
        sharing=run.sharing,
        admission=run.admission,
        cto_s=run.cto_s,
        ctn_s=run.ctn_s,
        key=host.key,
        profile=host.profile,
        seed=seed,
    )


def _host(run: PlatformRun) -> Host:
    assert run.host is not None
    return run.host


def _processors(
    run: PlatformRun,
    options: PlatformOptions,
    entries: Sequence[Mapping[str, Any]],
    i: int,
    planned: float,
) -> Callable[[float], Series] | float:
    if options.provisioning != "ecm":
        return planned or float(len(options.processors))
    name = name_of(i + 1)
    return lambda began_at: assigned(
        entries, name, began_at, options.time_scale, round(run.duration_s)
    )


# ---- load ----------------------------------------------------------------------------------------


def _load(platform: Platform, run: PlatformRun, seed: int, folder: Path) -> None:
    def look(line: Mapping[str, Any]) -> None:
        platform.check()

    run_loads(
        [
            LoadGenerator(
                application.https_url,
                _plan(run, seed, i, application, folder / f"attempts-{i + 1}.parquet"),
                folder / f"loadgen-{i + 1}.log",
                look,
            )
            for i, application in enumerate(platform.applications)
        ],
        tuple(sorted(cpus.usable())),
    )


def _plan(
    run: PlatformRun, seed: int, i: int, application: RunningApplication, file: Path
) -> LoadPlan:
    steps, host = [*run.loads[i], (run.duration_s, 0.0)], _host(run)
    try:
        return LoadPlan(
            load=PartlyOpen(
                model=PartlyOpenModel(host.interactions_mean, host.interactions_most),
                steps=tuple(RateStep(round(at_s, 3), round(rate, 6)) for at_s, rate in steps),
                stop_s=run.duration_s,
            ),
            authority=application.authority,
            time_scale=host.time_scale,
            # Each application has different customers.
            seed=seed * 100 + i,
            attempts_file=file,
        )
    except (PlanError, SessionModelError) as error:
        raise ExperimentError(f"{application.name}: the load plan is invalid: {error}") from None


def _accounts(platform: Platform) -> list[dict[str, Any]]:
    try:
        return [dict(entry) for entry in accounts.read(platform.accounts)]
    except OSError as fault:
        raise ExperimentError(
            f"The file {platform.accounts} with the CPU manager's accounts cannot be read "
            f"({fault.strerror})."
        ) from None


# ---- CPU time ------------------------------------------------------------------------------------


class HostingMeter:
    """A meter of the CPU time since the meter was created.

    The CPU time of a load generator counts only after the load generator has ended.
    """

    def __init__(self, lab: Settings, platform: Platform) -> None:
        self._platform = platform
        self._postmaster = _postmaster(lab)
        self._began_real_s = time.monotonic()
        self._before = self._look()

    def cpus(self) -> dict[str, float | None]:
        """Return the CPU use since the meter was created, in the form of `Hosted.cpus`."""
        took_s = time.monotonic() - self._began_real_s
        (own, load, database, busy), now = self._before, self._look()
        own_s, load_s = now[0] - own, now[1] - load
        database_s = None if database is None or now[2] is None else now[2] - database
        others_s = now[3] - busy - (own_s + load_s + (database_s or 0.0))
        return {
            "applications": own_s / took_s,
            "load_generator": load_s / took_s,
            "database": None if database_s is None else database_s / took_s,
            "others": max(0.0, others_s) / took_s,
        }

    def _look(self) -> tuple[float, float, float | None, float]:
        times = psutil.cpu_times()
        children = resource.getrusage(resource.RUSAGE_CHILDREN)  # load generators that have ended
        return (
            sum(application.cpu_s() for application in self._platform.applications),
            children.ru_utime + children.ru_stime,
            None if self._postmaster is None else processes.tree_cpu_s(self._postmaster),
            times.user + times.nice + times.system,
        )


def _postmaster(lab: Settings) -> int | None:
    file = State(lab.state_dir).postgres / "data" / "postmaster.pid"
    try:
        return int(file.read_text().split(maxsplit=1)[0])
    except (OSError, ValueError, IndexError):
        return None
