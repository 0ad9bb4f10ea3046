"""The ad server's live reproduction: its runs are made on a server of its own, then drawn."""

import json
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from lab.durations import duration
from lab.errors import ExperimentError
from lab.files.documents import read_json, write_json
from lab.machine.description import describe_machine, describe_versions, live_run_lock
from lab.machine.other_load import Neighbours
from lab.report.page import made_by, write_report
from lab.report.terminal import RunProgress, console
from lab.results.metrics import Metrics, Results
from lab.results.study import StudyResult
from lab.runner.stopwatch import stopwatch
from lab.studies.ad_server.budget import Cost, Plan, plan_of
from lab.studies.ad_server.cases import FEW, Cases, Cell, PlannedRun, Scale, planned_runs
from lab.studies.ad_server.host import AdClients, AdServer, clients_process, running_ad_server
from lab.studies.ad_server.measures import metrics
from lab.studies.ad_server.study import STUDY, measured_words, requests_words
from loadgen.ad_clients import AdOrder
from loadgen.attempt_log import AttemptsFileError, read_attempts, read_metadata
from runtime import settings

_PLAN = "requests.json"
_RUNS = "runs.jsonl"
_CALIBRATION_REQUESTS = 60
_QUIET_RATIO = 0.05
"""The share of the CPUs that other processes may have before the report mentions it."""
_SAID_TIMES = 8
"""A log gets so many lines of progress."""


def reproduce(given: Mapping[str, Any]) -> Path:
    """Make the runs that are missing and write the report; return its page.

    `given` are the command's options. Raises ExperimentError.
    """
    lab = settings.load()
    quick, seed = given["quick"], given["seed"]
    cases = STUDY.cases_of("live", quick=quick)
    if given["banners"] is not None:
        cases = replace(cases, banners=given["banners"])
    scale = cases.scale
    repetitions = given["repetitions"] or scale.repetitions
    facts = {
        "paper": "ad-server",
        "engine": "live",
        "quick": quick,
        "seed": seed,
        "repetitions": repetitions,
        "banners": cases.banners,
        "versions": describe_versions(),
        "machine": describe_machine(lab),
    }
    runs = planned_runs(scale, seed, repetitions)
    with live_run_lock():
        store = None if given["fresh"] else StudyResult.unfinished(lab.results_dir, facts)
        is_new = store is None
        if store is None or _missing(store, runs):
            console.print(
                f"Starting an ad server of the reproduction's own: {cases.banners:,} banners."
            )
            with running_ad_server(lab, cases.banners) as server:
                if store is None:  # without a server nothing shall be left behind
                    name = f"reproduce-ad-server{'-quick' if quick else ''}"
                    store = StudyResult.create(lab.results_dir, name, facts)
                stopwatch.begin(store.path, is_new=is_new)
                _make(store, cases, runs, server)
    plan = Plan.from_json(read_json(store.path / _PLAN))
    shares = _shares(store, runs, cases.cpus)
    page = write_report(
        STUDY.report(
            cases, quick=quick, **measured_words(plan.requests, shares.busy_words())
        ),
        read_results(store, cases, runs),
        store,
        made_by(
            repetitions=repetitions,
            seed=seed,
            machine=facts["machine"],
            versions=facts["versions"],
            more=[
                ("Requests of each client", requests_words(plan.requests)),
                ("The clients had", shares.words(shares.clients)),
                ("Other processes had", shares.words(shares.others)),
                ("Every run", "attempts/*.parquet has every request of each run (session: the "
                              "client, step: the request, page: its priority; real seconds), "
                              "runs.jsonl how the run went"),
            ],
        ),
    )  # fmt: skip
    if busy := shares.busy_words():
        console.print(busy)
    console.print(f"Report: {page}")
    return page


def read_results(store: StudyResult, cases: Cases, runs: Iterable[PlannedRun]) -> Results:
    """The metrics of all runs that have been made, by case; raises ExperimentError."""

    def read(run: PlannedRun) -> Metrics:
        try:
            requests = read_metadata(_file(store, run))["requests"]
            return metrics(read_attempts(_file(store, run)), requests)
        except AttemptsFileError as fault:
            raise ExperimentError(str(fault)) from None

    return Results.of_runs((cases.run(run.cell), run.seed, read(run)) for run in runs)


def _file(store: StudyResult, run: PlannedRun) -> Path:
    return store.attempts / f"{run.name}.parquet"


def _missing(store: StudyResult, runs: Iterable[PlannedRun]) -> list[PlannedRun]:
    return [run for run in runs if not _file(store, run).is_file()]


def _make(store: StudyResult, cases: Cases, runs: list[PlannedRun], server: AdServer) -> None:
    todo = _missing(store, runs)
    store.attempts.mkdir(exist_ok=True)
    if len(todo) < len(runs):
        console.print(f"Resuming: {len(runs) - len(todo)} of {len(runs)} runs are done.")
    with clients_process(server.url, store.path / "clients.log") as clients:
        plan_file = store.path / _PLAN
        if plan_file.is_file():
            plan = Plan.from_json(read_json(plan_file))
        else:
            plan = _measured_plan(clients, server, cases.scale, runs)
            write_json(plan_file, plan.as_json())
        console.print(
            f"{len(todo)} runs, about {duration(plan.expected_s(todo))}; requests of each client: "
            f"{requests_words(plan.requests)}.\n"
            f"Interrupted, the same command resumes. Results: {store.path}"
        )
        _play(store, cases, plan, todo, clients, server)


def _play(
    store: StudyResult,
    cases: Cases,
    plan: Plan,
    todo: list[PlannedRun],
    clients: AdClients,
    server: AdServer,
) -> None:
    every = -(-len(todo) // _SAID_TIMES)
    with (
        RunProgress(plan.expected_s(todo)) as progress,
        (store.path / _RUNS).open("a", encoding="utf-8") as log,
    ):
        for number, run in enumerate(todo, start=1):
            progress.run(f"[{number}/{len(todo)}] {run.cell.title}", plan.expected_s([run]))
            neighbours = Neighbours()
            requests = plan.requests[run.cell.clients]
            facts = {"case": cases.run(run.cell).as_json(), "seed": run.seed}
            file = _file(store, run)
            part = file.with_suffix(".part")
            went = clients.play(_order(server, run.cell, requests, run.seed, part, facts))
            line = {"run": run.name, **went, "others_ratio": neighbours.share()}
            log.write(json.dumps(line) + "\n")
            log.flush()
            part.replace(file)  # last: a run with its attempts is a whole one
            if number % every == 0:
                left = plan.expected_s(todo[number:])
                progress.say(
                    f"{number} of {len(todo)} runs"
                    + (f", about {duration(left)} left" if number < len(todo) else "")
                )


def _order(
    server: AdServer, cell: Cell, requests: int, seed: int, file: Path, facts: Mapping[str, Any]
) -> AdOrder:
    return AdOrder(
        clients=cell.clients,
        requests=requests,
        concepts=cell.concepts,
        high=cell.threads - 1,
        words=server.words,
        seed=seed,
        attempts_file=str(file),
        facts=facts,
    )


def _measured_plan(
    clients: AdClients, server: AdServer, scale: Scale, runs: list[PlannedRun]
) -> Plan:
    """Measure what a request costs, with a client alone and with ten, and share out the time."""
    ends = (min(scale.concepts), max(scale.concepts))
    threads = max(scale.threads)
    costs = {}
    with tempfile.TemporaryDirectory(prefix="doorbuster-ads-") as folder:

        def request_s(number: int, concepts: int) -> float:
            each = -(-_CALIBRATION_REQUESTS // number)
            cell, file = Cell(number, concepts, threads), Path(folder) / "calibration.parquet"
            went = clients.play(_order(server, cell, each, 0, file, {}))
            return float(went["took_s"]) / float(went["answered"])

        request_s(FEW, ends[1])  # to warm up
        for alone, number in ((True, 1), (False, FEW)):
            few, many = ((concepts, request_s(number, concepts)) for concepts in ends)
            costs[alone] = Cost.of_two(few, many)
    return plan_of(runs, costs, scale.runs_s)


class Shares(NamedTuple):
    """The shares of the CPUs, 0 to 1, with a number for each run."""

    cpus: int
    clients: list[float]
    others: list[float]

    def words(self, ratios: list[float]) -> str:
        """Return a mean and a maximum for people."""
        return (
            f"{fmean(ratios):.0%} of {self.cpus} CPUs on average, {max(ratios):.0%} at most in a "
            "run"
        )

    def busy_words(self) -> str:
        """Return what other processes did to the gains; empty on a quiet machine."""
        if fmean(self.others) <= _QUIET_RATIO:
            return ""
        return (
            f"The machine was busy: other processes had {self.words(self.others)}. What needs a "
            "second CPU gains less then, and intervals are wide."
        )


def _shares(store: StudyResult, runs: Iterable[PlannedRun], cpus: int) -> Shares:
    wanted = {run.name for run in runs}
    told = {}
    for text in (store.path / _RUNS).read_text(encoding="utf-8").splitlines():
        with suppress(ValueError):  # torn, when the disk was full or the machine crashed
            line = json.loads(text)
            if line["run"] in wanted:
                told[line["run"]] = line
    return Shares(
        cpus,
        [line["cpu_s"] / (line["took_s"] * cpus) for line in told.values()],
        [line["others_ratio"] for line in told.values()],
    )
