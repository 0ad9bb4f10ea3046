"""The effect of viewers on a run, in pairs of runs with and without a watching class.

Both runs of a pair have the same seed, and therefore the same customers. Their order alternates.
All runs use one capacity, which is measured once. One thread simulates the class.
"""

import selectors
import socket
import statistics
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.table import Table

from bench import harness
from lab.analysis.outcomes import outcomes_of, response_times_s
from lab.engines.live import capacity as capacities
from lab.engines.live.appliance import Appliance
from lab.engines.live.run import LiveRun
from lab.files.run_folder import RunFolder
from lab.files.run_summary import PlannedRun
from lab.intervals import Estimate, estimate, half_width
from lab.machine.lock import live_run_lock
from lab.runner.live import make_run
from lab.spec.experiment import read_spec
from lab.spec.runs import ShopRun

POLICY = "8q-lifo-pri"
SPEC = """version = 1
title = "Bench: watched and unwatched"
engine = "live"
seed = 1
repetitions = 1
time_scale = 10
[[policy]]
name = "{policy}"
[load]
rho = [{rho}]
sessions = {sessions}
"""
FIGURES = ("completed, %", "confirms", "completed/s", "mean response, s", "CPU, %")

Row = tuple[float, ...]
"""The metrics of a run, with times in paper seconds."""


REPETITIONS = 3
"""The number of repetitions in a usual result."""


@dataclass(frozen=True, slots=True)
class Compared:
    """The values of a metric with and without viewers, and the mean difference of the pairs."""

    name: str
    unwatched: Estimate
    watched: Estimate
    difference: Estimate
    interval: float
    """The half-width of the interval that a result of REPETITIONS runs without viewers would have.
    """

    @property
    def verdict(self) -> str:
        """The verdict on the difference, compared with a result's interval.

        - `within`: the whole interval of the difference is at most the result's interval.
        - `beyond`: the whole interval of the difference is larger.
        - `undecided`: neither.
        """
        most = abs(self.difference.mean) + (self.difference.half_width or 0.0)
        least = abs(self.difference.mean) - (self.difference.half_width or 0.0)
        if most <= self.interval:
            return "within"
        return "beyond" if least > self.interval else "undecided"


def compared(unwatched: Sequence[Row], watched: Sequence[Row]) -> list[Compared]:
    """Compare each metric without and with viewers. Both lists must have the same order of
    seeds.
    """
    found = []
    for place, name in enumerate(FIGURES):
        without, with_viewers = ([row[place] for row in rows] for rows in (unwatched, watched))
        differences = [b - a for a, b in zip(without, with_viewers, strict=True)]
        interval = half_width(statistics.stdev(without), REPETITIONS)
        found.append(
            Compared(
                name, estimate(without), estimate(with_viewers), estimate(differences), interval
            )
        )
    return found


def pairs(
    appliance: Appliance,
    console: tuple[str, int],
    *,
    seeds: Iterable[int],
    viewers: int,
    rho: float,
    sessions: int,
    say: Callable[[str], None],
) -> tuple[list[Row], list[Row]]:
    """Return the rows without and with viewers, by seed.

    `console` is the console's host and port.

    Raises ExperimentError if a run fails, and RuntimeError if the console ends a viewer's stream.
    """
    rows: dict[bool, list[Row]] = {False: [], True: []}
    with live_run_lock(), tempfile.TemporaryDirectory(prefix="doorbuster-bench-") as folder:
        say("measuring the capacity")
        runs = LiveRuns(appliance, Path(folder), rho=rho, sessions=sessions)
        for number, seed in enumerate(seeds):
            for is_watched in (False, True) if number % 2 else (True, False):
                say(f"seed {seed}, {viewers if is_watched else 'no'} viewers")
                with watching(*console, viewers if is_watched else 0):
                    row = runs.make("watched" if is_watched else "unwatched", seed)
                rows[is_watched].append(row)
    return rows[False], rows[True]


class LiveRuns:
    """Live runs of POLICY at one load. Their capacity is measured when this object is created."""

    def __init__(self, appliance: Appliance, folder: Path, *, rho: float, sessions: int) -> None:
        self._appliance = appliance
        self._folder = folder
        self._rho = rho
        self._spec = read_spec(SPEC.format(policy=POLICY, rho=rho, sessions=sessions), "bench")
        measured = capacities.measure([appliance], self._spec, on_progress=lambda line: None)
        self._rps = measured.median_rps

    def make(self, kind: str, seed: int) -> Row:
        """Carry out a run with this seed, and return its metrics. Runs of another kind may have the
        same seed.
        """
        planned = PlannedRun(number=seed, policy=POLICY, rho=self._rho, seed=seed)
        # As in a result: the folders of the experiment, of its runs, and of this run.
        files = RunFolder(self._folder / kind / "runs" / planned.folder)
        run = ShopRun.of_spec(self._spec, POLICY, self._rho, self._rps)
        make_run(LiveRun(self._appliance, run, seed, files))
        return _metrics_of(files, self._rho)


def table(title: str, kinds: tuple[str, str], found: Sequence[Compared]) -> Table:
    """Return a table with a row for each metric of compared runs; `kinds` are the heads of the
    columns for the unwatched and the watched runs.
    """
    interval = f"interval of {REPETITIONS} runs"
    heads = (*kinds, "difference", interval, "verdict")
    drawn = harness.table(title, "", *heads, texts=("verdict",))
    for one in found:
        texts = (one.unwatched.text(2), one.watched.text(2), one.difference.text(2))
        drawn.add_row(one.name, *texts, f"± {one.interval:.2f}", one.verdict)
    return drawn


def _metrics_of(run: RunFolder, rho: float) -> Row:
    """Return the metrics of a run, in the order of FIGURES."""
    attempts = run.attempts()
    outcomes = outcomes_of(attempts, rho)
    times_s = response_times_s(attempts)
    samples = run.samples()
    busy = samples.column("cpu_utilisation_ratio").to_numpy(zero_copy_only=False)
    # Samples begin before the load generator has started, so the first sample with a request in
    # service is the first that counts.
    time_s = samples.column("time_s").to_numpy()
    begun = samples.column("in_service").to_numpy() > 0
    began_s = time_s[begun][0] if begun.any() else 0.0
    arriving = (time_s >= began_s) & (time_s < began_s + outcomes.duration_s)
    return (
        100 * outcomes.completed_ratio,
        float(outcomes.confirms),
        outcomes.throughput_rps,
        float(times_s[np.isfinite(times_s)].mean()),
        100 * float(np.nanmean(busy[arriving])),
    )


_CHUNK_BYTES = 1 << 16
_LOOK_UP_EVERY_S = 0.2


@contextmanager
def watching(host: str, port: int, viewers: int) -> Iterator[None]:
    """Let `viewers` viewers read the watch page. The block begins once each viewer has received a
    byte.

    Raises RuntimeError if a stream ended before the end of the block, because the run then had
    fewer viewers.
    """
    over = threading.Event()
    cut_off: list[str] = []
    with ExitStack() as stack, selectors.DefaultSelector() as ready:
        for _ in range(viewers):
            viewer = stack.enter_context(socket.create_connection((host, port), 60))
            viewer.sendall(f"GET /watch/stream HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            if not viewer.recv(_CHUNK_BYTES):
                raise RuntimeError("the console ended a stream immediately")
            ready.register(viewer, selectors.EVENT_READ)

        def read() -> None:
            while not over.is_set():
                for key, _ in ready.select(_LOOK_UP_EVERY_S):
                    if not key.fileobj.recv(_CHUNK_BYTES):  # type: ignore[union-attr]
                        cut_off.append("the console ended a stream")
                        return

        reader = threading.Thread(target=read)
        reader.start()
        try:
            yield
        finally:
            over.set()
            reader.join()
    if cut_off:
        raise RuntimeError(cut_off[0])
