"""The ad server's live reproduction, which starts a separate ad server and measures its clients."""

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from lab.errors import ExperimentError
from lab.files.documents import read, write_json
from lab.machine.lock import live_run_lock
from lab.machine.other_load import OtherLoad
from lab.report.study_figures import Study
from lab.report.terminal import RunProgress, console
from lab.results.metrics import Metrics, Results
from lab.results.study import StudyResult
from lab.runner.estimates import Estimate
from lab.studies.ad_server.budget import Cost, Costs, Plan, requests_by_clients
from lab.studies.ad_server.cases import FEW, Cases, Cell, PlannedRun, Scale, planned_runs
from lab.studies.ad_server.host import AdClients, AdServer, clients_process, running_ad_server
from lab.studies.ad_server.measures import metrics
from lab.studies.ad_server.study import STUDY
from lab.studies.live import LiveStudy
from lab.wording import duration
from loadgen.customers.ad_clients import AdOrder
from loadgen.records.attempt_log import read_attempts, read_metadata
from loadgen.records.rows import RowsFileError

_PLAN = "requests.json"
_RUNS = "runs.jsonl"
_CALIBRATION_REQUESTS = 60
_QUIET_RATIO = 0.05
"""The mean CPU share of other processes, 0 to 1, above which the report has a warning."""
_SAID_TIMES = 8
"""The maximum number of progress lines in a log."""


class AdServerStudy(LiveStudy[Cases]):
    """A live study of the response times of a separate ad server."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        super().__init__(STUDY, given)
        if given["banners"] is not None:
            self.cases = replace(self.cases, banners=given["banners"])
        self.runs = planned_runs(self.cases.scale, self.seed, self.repetitions)
        self._held = ExitStack()
        self._server: AdServer | None = None

    @property
    def folder_name(self) -> str:
        """Return the name of the result's folder, without "live", the only engine."""
        return f"reproduce-{self.paper.name}{'-quick' if self.quick else ''}"

    @property
    def facts(self) -> Mapping[str, Any]:
        """Return the facts that every live study has, and the seeds and the number of banners."""
        return {
            **super().facts,
            "seed": self.seed,
            "repetitions": self.repetitions,
            "banners": self.cases.banners,
        }

    @contextmanager
    def ready(self) -> Iterator[None]:
        """Hold the machine's lock during the block; end the server after the block."""
        with super().ready(), live_run_lock(), self._held:
            yield

    def begin(self) -> StudyResult:
        """Start the ad server, then create the result's folder."""
        self._started()
        return super().begin()

    def make(self, result: StudyResult, estimate: Estimate | None) -> None:
        """Carry out the missing runs one after the other."""
        todo = [run for run in self.runs if not _file(result, run).is_file()]
        if not todo:
            return
        server = self._started()
        result.attempts.mkdir(exist_ok=True)
        self.announce_rest(len(todo), len(self.runs), "runs")
        plan_file = result.path / _PLAN
        with clients_process(server.url, result.path / "clients.log") as clients:
            if not plan_file.is_file():
                plan = _measured_plan(clients, server, self.cases.scale, self.runs)
                write_json(plan_file, asdict(plan))
            plan = read(plan_file, Plan)
            console.print(
                f"{len(todo)} runs, about {duration(plan.expected_s(todo))}; requests of each "
                f"client: {plan.words}.\n"
                f"If interrupted, run the same command again to resume. Results: {result.path}"
            )
            _play(result, self.cases, plan, todo, clients, server)

    def study(self, result: StudyResult, results: Results) -> Study:
        """Return the study. Its report has a warning if other processes used much CPU time."""
        plan, shares = self._plan_and_shares(result)
        words = {"requests": plan.words, "busy": shares.busy_words()}
        return STUDY.report(self.cases, quick=self.quick, **words)

    def results(self, result: StudyResult) -> Results:
        """Return the metrics of every run; raises ExperimentError if a run's file is missing or
        invalid."""
        return read_results(result, self.cases, self.runs)

    def made(self, result: StudyResult, results: Results) -> Sequence[tuple[str, str]]:
        """Return the facts about the runs: the number of requests, and the CPU shares of clients
        and other processes."""
        plan, shares = self._plan_and_shares(result)
        if busy := shares.busy_words():
            console.print(busy)
        return [
            ("Requests of each client", plan.words),
            ("The clients had", shares.words(shares.clients)),
            ("Other processes had", shares.words(shares.others)),
            ("Every run", "attempts/*.parquet has a row for each request. The column session has "
                          "the client, step the request's number, and page the priority. Times "
                          "are in real seconds. runs.jsonl has a line for each run."),
        ]  # fmt: skip

    def _plan_and_shares(self, result: StudyResult) -> "tuple[Plan, Shares]":
        plan = read(result.path / _PLAN, Plan)
        return plan, shares_of(result, self.runs, self.cases.cpus)

    def _started(self) -> AdServer:
        """Return the running server; the first call starts it."""
        if self._server is None:
            banners = self.cases.banners
            console.print(
                f"Starting a separate ad server for the reproduction, with {banners:,} banners."
            )
            self._server = self._held.enter_context(running_ad_server(self.lab, banners))
        return self._server


def read_results(result: StudyResult, cases: Cases, runs: Iterable[PlannedRun]) -> Results:
    """Return the metrics of all runs, by case; raises ExperimentError if a run's file is missing or
    invalid."""

    def read(run: PlannedRun) -> Metrics:
        try:
            requests = read_metadata(_file(result, run))["requests"]
            return metrics(read_attempts(_file(result, run)), requests)
        except RowsFileError as fault:
            raise ExperimentError(str(fault)) from None

    return Results.of_runs((cases.run(run.cell), run.seed, read(run)) for run in runs)


def _file(result: StudyResult, run: PlannedRun) -> Path:
    return result.attempts / f"{run.name}.parquet"


def _play(
    result: StudyResult,
    cases: Cases,
    plan: Plan,
    todo: list[PlannedRun],
    clients: AdClients,
    server: AdServer,
) -> None:
    every = -(-len(todo) // _SAID_TIMES)
    with (
        RunProgress(plan.expected_s(todo)) as progress,
        (result.path / _RUNS).open("a", encoding="utf-8") as log,
    ):
        for number, run in enumerate(todo, start=1):
            progress.run(f"[{number}/{len(todo)}] {run.cell.title}", plan.expected_s([run]))
            other_load = OtherLoad()
            requests = plan.requests[run.cell.clients]
            facts = {"case": cases.run(run.cell).as_json(), "seed": run.seed}
            file = _file(result, run)
            part = file.with_suffix(".part")
            went = clients.play(_order(server, run.cell, requests, run.seed, part, facts))
            line = {"run": run.name, **went, "others_ratio": other_load.share()}
            log.write(json.dumps(line) + "\n")
            log.flush()
            part.replace(file)  # last: a run with its attempts is complete
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
    """Measure the cost of a request with one client and with ten clients, and divide the intended
    time between the runs."""
    ends = (min(scale.concepts), max(scale.concepts))
    threads = max(scale.threads)
    with tempfile.TemporaryDirectory(prefix="doorbuster-ads-") as folder:

        def request_s(number: int, concepts: int) -> float:
            each = -(-_CALIBRATION_REQUESTS // number)
            cell, file = Cell(number, concepts, threads), Path(folder) / "calibration.parquet"
            went = clients.play(_order(server, cell, each, 0, file, {}))
            return float(went["took_s"]) / float(went["answered"])

        def cost(number: int) -> Cost:
            few, many = ((concepts, request_s(number, concepts)) for concepts in ends)
            return Cost.of_two(few, many)

        request_s(FEW, ends[1])  # to warm up
        costs = Costs(alone=cost(1), many=cost(FEW))
    return Plan(requests_by_clients([run.cell for run in runs], costs, scale.runs_s), costs)


live_study = AdServerStudy


class Shares(NamedTuple):
    """The shares of the CPUs, 0 to 1, that the clients and other processes used in each run."""

    cpus: int
    clients: list[float]
    others: list[float]

    def words(self, ratios: list[float]) -> str:
        """Return the mean and the maximum of these shares as text."""
        return (
            f"{100 * fmean(ratios):.0f} % of {self.cpus} CPUs on average, "
            f"{100 * max(ratios):.0f} % at most in a run"
        )

    def busy_words(self) -> str:
        """Return a warning that other processes affect the gains, or "" if they used little CPU."""
        if fmean(self.others) <= _QUIET_RATIO:
            return ""
        return (
            f"The machine was busy: other processes used {self.words(self.others)}. This makes "
            "the gain of a second thread smaller and the intervals wider."
        )


def shares_of(result: StudyResult, runs: Iterable[PlannedRun], cpus: int) -> Shares:
    wanted = {run.name for run in runs}
    told = {}
    for text in (result.path / _RUNS).read_text(encoding="utf-8").splitlines():
        with suppress(ValueError):  # damaged by a full disk or a crash of the machine
            line = json.loads(text)
            if line["run"] in wanted:
                told[line["run"]] = line
    return Shares(
        cpus,
        [line["cpu_s"] / (line["took_s"] * cpus) for line in told.values()],
        [line["others_ratio"] for line in told.values()],
    )
