"""One run of the hosting platform: its applications under load, and what became of it, by seconds.

Owns: starting platform and load generators, the order of things, what of the processors went where,
counts of sessions and replies. Must not know: which other runs there are, what is drawn of them.
Times are paper seconds unless a name says real.
"""

import resource
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import psutil
import pyarrow as pa
import pyarrow.compute as pc

from hosting import accounts, processes
from hosting.errors import HostingError
from hosting.options import PlatformOptions
from hosting.platform import Platform
from hosting.running import RunningApplication
from lab.experiments.customers import run_load
from lab.experiments.errors import ExperimentError
from loadgen.attempts import AttemptOutcome, read_attempts, read_metadata
from loadgen.connection_log import ConnectionKind, connections_file, read_connections
from loadgen.partly_open import IMAGE
from runtime import cpus
from runtime.settings import Settings
from runtime.state import State

Series = npt.NDArray[np.float64]

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
class HostedApplication:
    """What became of one application's customers. `per_second`: `sessions` and `replies` (counts)
    and `processors` (assigned), a value for each second of the run."""

    sessions: Mapping[str, int]
    """By fate: completed, refused, timed_out, failed, under_way."""
    response_s: Series
    per_second: Mapping[str, Series]
    cpu_s: float
    behind_ratio: float
    """Share of attempts that the load generator made late."""


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
            meter = _Meter(lab, platform)
            _load(platform, run, folder, say)
            shares, own_s = meter.read()
            entries = _accounts(platform) if run.options.provisioning == "ecm" else []
            planned = [one.plan.processors for one in platform.applications]
    except HostingError as fault:
        raise ExperimentError(str(fault)) from None
    return Hosted(
        tuple(
            _application(run, folder / f"attempts-{i + 1}.parquet", entries, i, planned[i], cpu_s)
            for i, cpu_s in enumerate(own_s)
        ),
        *shares,
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


# ---- processors ----------------------------------------------------------------------------------


class _Meter:
    """CPU of applications, load generators and database from its making on."""

    def __init__(self, lab: Settings, platform: Platform) -> None:
        self._platform = platform
        self._postmaster = _postmaster(lab)
        self._began_real_s = time.monotonic()
        self._before = self._look()

    def read(self) -> tuple[tuple[float, float, float | None, float], list[float]]:
        """Processors that applications, load generators, database and everything else had; CPU of
        each application in paper seconds."""
        took_s = time.monotonic() - self._began_real_s
        (own, load, database, busy), now = self._before, self._look()
        own_s = [b - a for a, b in zip(own, now[0], strict=True)]
        known = None if database is None or now[2] is None else now[2] - database
        ours_s = sum(own_s) + now[1] - load + (known or 0.0)
        shares = (
            sum(own_s) / took_s,
            (now[1] - load) / took_s,
            None if known is None else known / took_s,
            max(0.0, now[3] - busy - ours_s) / took_s,
        )
        return shares, [each * self._platform.options.time_scale for each in own_s]

    def _look(self) -> tuple[list[float], float, float | None, float]:
        times = psutil.cpu_times()
        children = resource.getrusage(resource.RUSAGE_CHILDREN)  # load generators, once they ended
        return (
            [application.cpu_s() for application in self._platform.applications],
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


def _accounts(platform: Platform) -> list[dict[str, Any]]:
    try:
        return [dict(entry) for entry in accounts.read(platform.accounts)]
    except OSError as fault:
        raise ExperimentError(
            f"The CPU manager's accounts {platform.accounts} cannot be read ({fault.strerror})."
        ) from None


# ---- what became of it ---------------------------------------------------------------------------


def _application(
    run: HostingRun,
    attempts_file: Path,
    entries: Sequence[Mapping[str, Any]],
    i: int,
    planned: float,
    cpu_s: float,
) -> HostedApplication:
    metadata = read_metadata(attempts_file)
    attempts = read_attempts(attempts_file)
    connections = read_connections(connections_file(attempts_file))
    seconds = round(run.duration_s)
    if not metadata["complete"]:
        raise ExperimentError(
            "A load generator was stopped before the end; the same command makes this run again."
        )
    processors = (
        assigned(
            entries, f"application-{i + 1}", metadata["started_at"], run.options.time_scale, seconds
        )
        if run.options.provisioning == "ecm"
        else np.full(seconds, planned or float(len(run.options.processors)))
    )
    replies_s = _completed(attempts).column("finished_s").to_numpy()
    return HostedApplication(
        session_fates(attempts, connections),
        page_response_s(attempts),
        {
            "sessions": by_second(first_opened_s(connections), seconds),
            "replies": by_second(replies_s, seconds),
            "processors": processors,
        },
        cpu_s,
        float(metadata["schedule"]["late_share"]),
    )


def by_second(times_s: npt.NDArray[np.float64], seconds: int) -> Series:
    """How many of the times are in each second of the run; those after its end in none."""
    return np.histogram(times_s, np.arange(seconds + 1))[0].astype(float)


def assigned(
    entries: Sequence[Mapping[str, Any]],
    application: str,
    began_at: float,
    time_scale: float,
    seconds: int,
) -> Series:
    """Processors assigned at each second of a run that began at `began_at` (Unix time), read off
    the CPU manager's accounts: an entry, written at the end of an interval, says what was assigned
    in it. Of seconds after the last entry: what that says."""
    known = [
        (float(entry["time_s"]), float(one["assigned"]))
        for entry in entries
        for one in entry["applications"]
        if one["application"] == application
    ]
    if not known:
        raise ExperimentError(f"The CPU manager has accounted for nothing of {application}.")
    at_s = (np.array([time_s for time_s, _ in known]) - began_at) * time_scale
    entry_of = np.searchsorted(at_s, np.arange(seconds), side="left")
    return np.array([value for _, value in known])[np.minimum(entry_of, len(known) - 1)]


def first_opened_s(connections: pa.Table) -> npt.NDArray[np.float64]:
    """When each session first knocked."""
    sessions = connections.column("session").to_numpy()
    _, first = np.unique(sessions, return_index=True)  # rows are in the order of sessions and time
    return connections.column("opened_s").to_numpy()[first]


def session_fates(attempts: pa.Table, connections: pa.Table) -> dict[str, int]:
    """Sessions by what became of them.

    refused: a connection of theirs was; timed_out: their last attempt was; completed: all that they
    planned was answered; under_way: they were cut at the end of the run.
    """
    refused = {
        session
        for session, kind in zip(
            connections.column("session").to_pylist(),
            connections.column("kind").to_pylist(),
            strict=True,
        )
        if kind == ConnectionKind.REFUSED
    }
    last: dict[int, str] = {}
    unasked: set[int] = set()
    for session, outcome in zip(
        attempts.column("session").to_pylist(),
        attempts.column("outcome").to_pylist(),
        strict=True,
    ):  # rows are in the order of session, step and attempt
        if outcome == AttemptOutcome.NOT_GENERATED:
            unasked.add(session)
        else:
            last[session] = outcome
    fates = dict.fromkeys(("completed", "refused", "timed_out", "failed", "under_way"), 0)
    for session in unasked | last.keys():
        outcome = last.get(session)
        if session in refused:
            fate = "refused"
        elif outcome == AttemptOutcome.TIMED_OUT:
            fate = "timed_out"
        elif outcome in (None, AttemptOutcome.COMPLETED):
            fate = "under_way" if session in unasked else "completed"
        else:
            fate = "failed"
        fates[fate] += 1
    return fates


def page_response_s(attempts: pa.Table) -> Series:
    """Of each page that was answered: from when the attempt that was was due, to its end."""
    pages = _completed(attempts)
    pages = pages.filter(pc.not_equal(pages.column("page"), IMAGE))
    return pages.column("finished_s").to_numpy() - pages.column("intended_s").to_numpy()


def _completed(attempts: pa.Table) -> pa.Table:
    return attempts.filter(pc.equal(attempts.column("outcome"), AttemptOutcome.COMPLETED.value))
