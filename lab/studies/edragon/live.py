"""eDragon's live runs, each on a separate hosting platform on this machine. The load generator and
the database use a part of this machine's processors, so loads and costs are scaled to the remaining
capacity.
"""

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lab.engines.hosted import connection_costs
from lab.engines.hosted.connection_costs import ConnectionCosts
from lab.engines.hosted.run import Hosted, make_hosted_run
from lab.errors import ExperimentError
from lab.files.documents import read_json, write_json
from lab.intervals import estimate
from lab.machine.lock import live_run_lock
from lab.report.study_figures import Study
from lab.report.terminal import RunProgress, console
from lab.results.metrics import Metrics, Results
from lab.results.study import Simulation, StudyResult, plan
from lab.runner.estimates import Estimate
from lab.runner.live import running_appliance
from lab.spec.runs import PlatformRun
from lab.studies.edragon.cases import LIVE, SATURATION_SESSIONS_PS, Cases
from lab.studies.edragon.measures import BIN_S, application_metrics
from lab.studies.edragon.study import STUDY
from lab.studies.live import LiveStudy
from lab.wording import duration
from runtime.settings import Settings

_BESIDE = "beside.json"
_RUNS = "runs"
_START_REAL_S = 25.0
"""The approximate real seconds that it takes to start and stop a platform."""
TRIAL_S = 300.0
_TRIAL_LOAD_RATIO = 0.3
"""The load of the trial run, as a share of the capacity that the applications would have if no
other process ran."""
_OTHERS_AT_MOST_RATIO = 0.1
"""The largest share of the processors that other processes can use without a warning. The CPU
manager, Redis and the system are such processes."""


class PlatformStudy(LiveStudy[Cases]):
    """A live study that starts a hosting platform for each run and scales loads and costs to this
    machine."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        """Read the measured costs of a connection. Raises ExperimentError if they were not measured
        with the settings of LIVE, or if the appliance does not run."""
        super().__init__(STUDY, given)
        running_appliance(self.lab)
        self.costs = connection_costs.kept(
            self.lab, key=LIVE.key, profile=LIVE.profile, time_scale=LIVE.time_scale
        )
        check_costs(self.costs)
        self.processors = self.cases.scale.processors
        self.runs = plan(
            STUDY.report(self.cases, quick=self.quick).cases(),
            seed=self.seed,
            repetitions=self.repetitions,
        )

    @property
    def facts(self) -> Mapping[str, Any]:
        """Return the facts of every live study, the time at which the costs of a connection were
        measured, and the names of the runs."""
        return {
            **super().facts,
            "costs": self.costs.measured_at,
            "runs": [run.name for run in self.runs],
        }

    @contextmanager
    def ready(self) -> Iterator[None]:
        """Hold the machine's lock until the block ends."""
        with super().ready(), live_run_lock():
            yield

    def make(self, result: StudyResult, estimate: Estimate | None) -> None:
        """Carry out the missing runs one after the other."""
        todo = result.missing(self.runs)
        self.announce_rest(len(todo), len(self.runs), "runs")
        expected = [expected_real_s([run.case.run]) for run in todo]
        console.print(
            f"{len(todo)} runs at time scale {LIVE.time_scale:g}, about "
            f"{duration(sum(expected))}. "
            f"If interrupted, run the same command again to resume.\nResults: {result.path}"
        )
        if not todo:
            return
        beside = self._beside_ratio(result)
        serves_ps = saturation_ps(self.costs, beside, self.processors)
        console.print(
            f"The platform can serve {serves_ps:.3f} new sessions per paper second, which "
            f"correspond to {SATURATION_SESSIONS_PS:g} on the paper's scale."
        )
        with RunProgress(sum(expected)) as progress:
            for number, (run, real_s) in enumerate(zip(todo, expected, strict=True), start=1):
                title = f"[{number}/{len(todo)}] {run_words(run.case.run)}, seed {run.seed}"
                progress.run(title, real_s)
                began_s = time.monotonic()
                metrics = self._run(result, run, beside)
                result.keep(run, metrics)
                progress.say(f"{title}: {verdict(metrics)} ({time.monotonic() - began_s:.0f} s)")

    def study(self, result: StudyResult, results: Results) -> Study:
        """Return the study, with a warning if other processes used much processor time."""
        disturbed = disturbed_words(self._all(results), self.processors)
        return STUDY.report(self.cases, quick=self.quick, disturbed=disturbed)

    def results(self, result: StudyResult) -> Results:
        """Return the metrics of every run."""
        return result.results(self.runs)

    def made(self, result: StudyResult, results: Results) -> Sequence[tuple[str, str]]:
        """Return the facts about the runs: the costs from which the loads are calculated, and the
        number of processors that each kind of process used."""
        return [
            ("Connections cost", costs_words(self.costs, read_json(result.path / _BESIDE))),
            *shares_words(self._all(results), self.processors),
            ("Time scale", f"{LIVE.time_scale:g} paper seconds per real second"),
            ("Every run", "runs/* has the attempts and connections of each application, and "
                          "the load generators' logs"),
        ]  # fmt: skip

    def _all(self, results: Results) -> list[Metrics]:
        cases = {run.case.id: run.case for run in self.runs}.values()
        return [metrics for case in cases for metrics in results.of(case)]

    def _run(self, result: StudyResult, run: Simulation, beside: float) -> dict[str, Any]:
        factor = saturation_ps(self.costs, beside, self.processors) / SATURATION_SESSIONS_PS
        scaled = scaled_run(run.case.run, factor, self.costs, beside)
        folder = result.path / _RUNS / run.name
        shutil.rmtree(folder, ignore_errors=True)  # files of an interrupted attempt
        hosted = make_hosted_run(self.lab, scaled, run.seed, folder, lambda words: None)
        return live_metrics(hosted, scaled, factor)

    def _beside_ratio(self, result: StudyResult) -> float:
        """Return `beside_ratio` of a trial run, which is measured before the first run."""
        file = result.path / _BESIDE
        if not file.is_file():
            console.print(
                "Measuring the CPU time of the load generator and the database, about "
                f"{duration(TRIAL_S / LIVE.time_scale + _START_REAL_S)}"
            )
            trial = result.path / _RUNS / "trial"
            write_json(file, measure_beside(self.lab, trial, self.costs, self.processors))
        return beside_ratio(read_json(file))


live_study = PlatformStudy


def check_costs(costs: ConnectionCosts) -> None:
    """Raise ExperimentError if the costs were measured with sessions of another length."""
    if costs.interactions_mean != LIVE.interactions_mean:
        raise ExperimentError(
            f"The costs of connections were measured with sessions of {costs.interactions_mean:g} "
            "pages. To measure them with the sessions of this reproduction, run "
            f"{profile_words()}."
        )


def expected_real_s(runs: Sequence[PlatformRun]) -> float:
    """Return the approximate total duration of these runs in real seconds."""
    return sum(run.duration_s / LIVE.time_scale + _START_REAL_S for run in runs)


def saturation_ps(costs: ConnectionCosts, beside_ratio: float, processors: int) -> float:
    """Return the number of new sessions per paper second that the platform can serve.
    `beside_ratio` is the CPU time of the load generator and the database, divided by the CPU time
    of the applications."""
    return processors / (costs.session_s * (1 + beside_ratio))


def measure_beside(
    lab: Settings, folder: Path, costs: ConnectionCosts, processors: int
) -> dict[str, float | None]:
    """Measure how many processors the application, the load generator and the database use under a
    light load. The run takes `TRIAL_S` paper seconds and writes its files to `folder`."""
    load_ps = _TRIAL_LOAD_RATIO * saturation_ps(costs, 0.0, processors)
    run = PlatformRun(
        loads=(((0.0, load_ps),),),
        duration_s=TRIAL_S,
        processors=processors,
        capacity_ps=saturation_ps(costs, 0.0, processors),
        provisioning="static",
        admission="none",
        host=LIVE,
    )
    found = make_hosted_run(lab, run, 0, folder, lambda words: None)
    return {name: found.cpus[name] for name in ("applications", "load_generator", "database")}


def beside_ratio(found: Mapping[str, float | None]) -> float:
    """Return the number of processors that the load generator and the database used, divided by the
    number that the application used. Raises ExperimentError if the application used none."""
    applications = found["applications"] or 0.0
    if applications <= 0:
        raise ExperimentError(
            "The application of the trial run used no CPU, so loads and costs cannot be scaled."
        )
    return ((found["load_generator"] or 0.0) + (found["database"] or 0.0)) / applications


def scaled_run(
    run: PlatformRun, factor: float, costs: ConnectionCosts, beside_ratio: float
) -> PlatformRun:
    """Return the run scaled to this machine: its loads are multiplied by `factor`. CTO and CTN
    include the CPU time of the load generator and the database on the same processors."""
    return run.with_(
        loads=tuple(tuple((at_s, rate * factor) for at_s, rate in loads) for loads in run.loads),
        capacity_ps=run.capacity_ps * factor,
        cto_s=costs.cto_s * (1 + beside_ratio),
        ctn_s=costs.ctn_s * (1 + beside_ratio),
    )


def live_metrics(hosted: Hosted, run: PlatformRun, factor: float) -> dict[str, Any]:
    """Return a run's metrics in the form that a simulated run has, and the number of processors
    that each kind of process used."""
    return {
        "duration_s": run.duration_s,
        "bin_s": BIN_S,
        "load_factor": factor,
        "cpus": dict(hosted.cpus),
        "applications": [
            application_metrics(
                sessions=one.sessions,
                response_s=one.response_s,
                per_second=one.per_second,
                more={"failed": one.sessions["failed"], "late_ratio": one.behind_ratio},
            )
            for one in hosted.applications
        ],
    }


def profile_words() -> str:
    """Return the command that measures the costs."""
    return (
        f"`{connection_costs.COMMAND} --key {LIVE.key} --page-profile {LIVE.profile} "
        f"--time-scale {LIVE.time_scale:g} --interactions-mean {LIVE.interactions_mean:g} "
        "--no-key-sizes`"
    )


def run_words(run: PlatformRun) -> str:
    """Return a description of a run."""
    how = run.provisioning if run.admission == "eac" else "original"
    if len(run.loads) == 1:
        return f"one application, {how}, {run.loads[0][0][1]:g} new sessions/s on the paper's scale"
    priorities = ":".join(f"{priority:g}" for priority in run.priorities)
    return f"two applications, {how}, priorities {priorities}, sharing {run.sharing}"


def verdict(metrics: Metrics) -> str:
    """Return a run's outcome as one line of text."""
    names = ("sessions", "completed", "refused", "timed_out", "replies")
    count = {name: sum(one[name] for one in metrics["applications"]) for name in names}
    return (
        f"{count['sessions']} sessions, {count['completed']} completed, {count['refused']} "
        f"refused, {count['timed_out']} timed out; "
        f"{count['replies'] / metrics['duration_s']:.1f} replies/s"
    )


def costs_words(costs: ConnectionCosts, found: Mapping[str, float | None]) -> str:
    """Return a text with the measured costs from which the loads are calculated."""
    ratio = beside_ratio(found)
    return (
        f"CTO {costs.cto_s:.3f}, CTN {costs.ctn_s:.3f}, session {costs.session_s:.2f} paper s of "
        f"CPU ({costs.key}, full handshake {100 * costs.handshake_ratio:.0f} % of a session, "
        f"measured {costs.measured_at}); the load generator and the database need "
        f"{100 * ratio:.0f} % more, which the loads take into account."
    )


def disturbed_words(made: Sequence[Metrics], processors: int) -> str:
    """Return a warning if other processes used more than a small share of the processors, or an
    empty text."""
    most = max((metrics["cpus"]["others"] for metrics in made), default=0.0)
    if most <= _OTHERS_AT_MOST_RATIO * processors:
        return ""
    return (
        f"The machine was busy with other work, which used up to {most:.2f} of its {processors} "
        "processors in a run. The platform and its admission assume that they have all "
        "processors, so measure on a quiet machine."
    )


def shares_words(made: Sequence[Metrics], processors: int) -> list[tuple[str, str]]:
    """Return how many processors each kind of process used in the runs."""
    found = []
    for key, name in (
        ("applications", "Applications had"),
        ("load_generator", "The load generator had"),
        ("database", "The database had"),
        ("others", "Everything else had"),
    ):
        shares = [metrics["cpus"][key] for metrics in made if metrics["cpus"][key] is not None]
        if shares:
            found.append(
                (name, f"{estimate(shares).mean:.2f} of {processors} processors on average, "
                       f"{max(shares):.2f} at most in a run")
            )  # fmt: skip
    return found
