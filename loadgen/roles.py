"""The roles that a process can have in a run: single process, worker or master.

A role decides which sessions the process starts, how the workers' rows reach the file, and how the
run ends. A run can end by itself, by the stop button or Ctrl-C, or because a worker is lost.
"""

import json
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gevent
from locust.env import Environment
from locust.runners import STATE_MISSING, MasterRunner, WorkerRunner

from loadgen.collector import Collector, WorkerPart
from loadgen.plan import LoadPlan, Part, PartlyOpen
from loadgen.records.connection_log import connections_file
from loadgen.run import LoadRun

logger = logging.getLogger(__name__)

PART_MESSAGE = "doorbuster_part"
REPORT_MESSAGE = "doorbuster_report"
STOP_MESSAGE = "doorbuster_stop"
REPORT_EVERY_S = 1.0
"""The real seconds between progress lines, and between a worker's reports."""
_LAST_REPORTS_WITHIN_S = 5.0

MakeRun = Callable[[Part], LoadRun]


class Role:
    """The role of a process, which receives Locust's events.

    This class itself is the role of a worker that joined during a run. Such a worker has no part in
    this run.
    """

    def started(self, plan: LoadPlan, host: str, make_run: MakeRun) -> None:
        raise AssertionError("a worker that joined late has no plan")

    def play(self, stop_customers: Callable[[], None]) -> None:
        """Play this process's part of the run in the calling greenlet."""

    def over(self) -> bool:
        """Return True when the run has ended by itself."""
        return False

    def stopping(self) -> None:
        """Prepare for the end of the run, while customers are still active."""

    def stopped(self) -> None:
        """Finish the run, after all customers have ended."""


class _Recorder(Role):
    """A role whose process writes the files."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._collector: Collector | None = None
        self._reporter: gevent.Greenlet[[], None] | None = None

    def stopped(self) -> None:
        if self._reporter is not None:
            self._reporter.kill(block=False)
        if self._collector is not None:
            self._collect(self._collector, done=True)
            conclude(self._environment, self._collector)
        self._collector = None

    def _expect(self, plan: LoadPlan, host: str, names: Sequence[str]) -> None:
        self._collector = Collector.expecting(plan, host, names)
        self._reporter = gevent.spawn(self._report_for_ever)

    def _collect(self, collector: Collector, *, done: bool) -> None:
        """Bring the collector up to date; `done` is True at the end of the run."""

    def _report_for_ever(self) -> None:
        while True:
            gevent.sleep(REPORT_EVERY_S)
            if self._collector is not None:  # None after the run's end
                self._collect(self._collector, done=False)
                show_progress(self._collector)


class Alone(_Recorder):
    """The role of a single process, which plays all sessions and writes the files."""

    _run: LoadRun | None = None

    def started(self, plan: LoadPlan, host: str, make_run: MakeRun) -> None:
        self._run = make_run(Part())
        self._expect(plan, host, ["local"])

    def play(self, stop_customers: Callable[[], None]) -> None:
        assert self._run is not None
        assert self._collector is not None
        plan = self._collector.plan
        if plan.start_file is not None and plan.progress == "json":
            _print_json({"event": "ready"})
        self._run.await_start()
        self._collector.begin()
        self._run.play(stop_customers)

    def over(self) -> bool:
        return self._run is not None and self._run.finished.is_set()

    def stopping(self) -> None:
        if self._run is not None and self._collector is not None:
            self._collector.interrupted = not self._run.finished.is_set()

    def stopped(self) -> None:
        super().stopped()
        self._run = None

    def _collect(self, collector: Collector, *, done: bool) -> None:
        assert self._run is not None
        collector.add(0, self._run.new_rows(), self._run.tally.as_counts(), done)


class Worker(Role):
    """The role of a worker, which plays the part that the master assigns, and reports rows and
    counts every second.
    """

    def __init__(self, environment: Environment) -> None:
        assert isinstance(environment.runner, WorkerRunner)
        self._runner = environment.runner
        self._part = Part()
        self.given: Mapping[str, Any] | None = None
        """The plan of the next run, as the master has sent it; None if this worker has no part in
        the next run.
        """
        self._run: LoadRun | None = None
        self._reporter: gevent.Greenlet[[], None] | None = None
        self._runner.register_message(PART_MESSAGE, self._given_part)
        self._runner.register_message(STOP_MESSAGE, self._told_to_stop)

    def started(self, plan: LoadPlan, host: str, make_run: MakeRun) -> None:
        self._run = make_run(self._part)
        self.given = None
        self._reporter = gevent.spawn(self._report_for_ever)

    def cannot_start(self, reason: str) -> None:
        """Report to the master that this part is lost."""
        logger.error("%s", reason)
        lost = {"index": self._part.index, "cannot_start": reason}
        self._runner.send_message(REPORT_MESSAGE, lost)
        self.given = None

    def play(self, stop_customers: Callable[[], None]) -> None:
        if self._run is None or self._run.has_begun:
            # When a worker joins or leaves, Locust starts `Arrivals` again in every process, but
            # each part is played only once.
            return
        self._run.await_start()
        self._run.play(stop_customers)
        self._report()

    def stopping(self) -> None:
        """End the regular reports; `stopped` sends the last report."""
        if self._reporter is not None:
            self._reporter.kill(block=False)
            self._reporter = None

    def stopped(self) -> None:
        self.stopping()
        if self._run is not None:
            self._report(stopped=True)
            self._run = None

    def _given_part(self, environment: Environment, msg: Any, **_: object) -> None:
        self._part = Part(msg.data["index"], msg.data["of"])
        self.given = msg.data["plan"]

    def _told_to_stop(self, environment: Environment, msg: Any, **_: object) -> None:
        self._runner.stop()

    def _report_for_ever(self) -> None:
        while True:
            gevent.sleep(REPORT_EVERY_S)
            self._report()

    def _report(self, stopped: bool = False) -> None:
        assert self._run is not None
        self._runner.send_message(
            REPORT_MESSAGE,
            {
                "index": self._run.part.index,
                "rows": self._run.new_rows(),
                "counts": self._run.tally.as_counts(),
                "done": self._run.finished.is_set(),
                "stopped": stopped,
            },
        )


class Master(_Recorder):
    """The role of the master, which distributes parts, collects reports and writes the files."""

    def __init__(self, environment: Environment) -> None:
        assert isinstance(environment.runner, MasterRunner)
        super().__init__(environment)
        self._runner = environment.runner
        self._runner.register_message(REPORT_MESSAGE, self._reported)

    def started(self, plan: LoadPlan, host: str, make_run: MakeRun) -> None:
        # Workers keep their indexes when others leave, but parts must be numbered without gaps.
        names = sorted(
            (client.id for client in self._runner.clients.ready), key=self._runner.get_worker_index
        )
        self._expect(plan, host, names)
        given = plan.with_(attempts_file=None).as_json()  # the master writes the file
        for index, name in enumerate(names):
            part = {"index": index, "of": len(names), "plan": given}
            self._runner.send_message(PART_MESSAGE, part, name)

    def play(self, stop_customers: Callable[[], None]) -> None:
        raise AssertionError("a master does not play sessions")

    def over(self) -> bool:
        if self._collector is None:
            return False
        self._notice_lost_workers()
        return self._collector.settled()

    def stopping(self) -> None:
        collector = self._collector
        if collector is None:
            return
        # Locust stops a run whose last worker is gone, perhaps before `over` notices it.
        self._notice_lost_workers()
        if collector.settled():
            return
        collector.interrupted = True
        self._runner.send_message(STOP_MESSAGE)
        # Not `common.waiting`, because other greenlets must run. False ends the wait without an
        # error; gevent's types do not know this.
        with gevent.Timeout(_LAST_REPORTS_WITHIN_S, False):  # type: ignore[arg-type]
            while not collector.settled():
                gevent.sleep(0.02)
                self._notice_lost_workers()

    def _collect(self, collector: Collector, *, done: bool) -> None:
        for part in collector.parts.values() if done else ():
            part.lost = not part.done

    def _reported(self, environment: Environment, msg: Any, **_: object) -> None:
        if self._collector is None:
            return
        data = msg.data
        if "cannot_start" in data:
            part = self._collector.parts[data["index"]]
            part.lost = True
            logger.error("worker %s cannot start: %s", part.name, data["cannot_start"])
            return
        # A worker that the master stopped has reported everything; a worker that stops by itself
        # leaves sessions unplayed.
        done = data["done"] or (data["stopped"] and self._collector.interrupted)
        self._collector.add(data["index"], data["rows"], data["counts"], done)
        if data["stopped"] and not done:
            self._lose(self._collector.parts[data["index"]], "was stopped")

    def _notice_lost_workers(self) -> None:
        assert self._collector is not None
        for part in self._collector.parts.values():
            client = self._runner.clients.get(part.name)
            gone = client is None or client.state == STATE_MISSING
            if gone and not part.done:
                self._lose(part, "is gone")

    def _lose(self, part: WorkerPart, how: str) -> None:
        if not part.lost:
            part.lost = True
            logger.error("worker %s %s; the rest of its sessions are lost", part.name, how)


def show_progress(collector: Collector) -> None:
    if collector.plan.progress == "json":
        until_s = collector.plan.load.arrivals_until_s
        times = {"time_s": collector.time_s(), "until_s": until_s}
        _print_json({"event": "progress"} | times | collector.counts())


def conclude(environment: Environment, collector: Collector) -> None:
    """Write the files, print the summary (with --progress json), and set Locust's exit code."""
    metadata = collector.metadata()
    path = collector.plan.attempts_file
    environment.process_exit_code = 1  # Locust logs an exception here, and ends with this code
    collector.remove_stale()
    for file, log in collector.files():
        try:
            log.write(file, metadata)
        except OSError as error:
            logger.error("--attempts-file: %s was not written: %s", file, error.strerror or error)
            break
    else:
        environment.process_exit_code = 0 if metadata["complete"] or collector.interrupted else 1
    schedule = metadata["schedule"]
    if schedule["late_attempts"]:
        logger.warning(
            "the load generator fell behind schedule: %d of %d attempts (%.2f %%) started more "
            "than %g real ms late; the largest delay was %.0f real ms",
            schedule["late_attempts"],
            metadata["counts"]["attempts"],
            schedule["late_share"] * 100,
            schedule["late_tolerance_s"] * 1000,
            schedule["max_behind_s"] * 1000,
        )
    if collector.plan.progress == "json":
        summary = {"event": "summary", "attempts_file": str(path) if path else None}
        if isinstance(collector.plan.load, PartlyOpen):
            summary["connections_file"] = str(connections_file(path)) if path else None
        _print_json(summary | metadata)


def _print_json(line: dict[str, Any]) -> None:
    try:
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of the progress is gone; the run continues.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
