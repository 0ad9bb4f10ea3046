"""The benchmark in which thirty students use one console during a teacher's live runs.

    make bench-class                                # two lessons of ten minutes: 35 minutes
    make bench-class ARGS="--lesson 'a class'"      # without the lesson in which three more attack

The command starts a separate appliance with accounts and classroom mode, in a temporary folder and
on free ports, and stops it at the end. A student is a thread of this process that behaves as a
browser does, with TLS, cookies, the CSRF token and pauses between pages. The teacher's live runs
have the same seeds and the same capacity, with and without the class.

The command prints:

- the times of pages, and the errors,
- the students' longest waits in the queue,
- the memory of all parts,
- the metrics of the live runs with and without the class.

The exit status is 1 if a target is missed.
"""

import contextlib
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import psutil
from rich.table import Table

from bench import harness
from bench.classroom import attacks
from bench.classroom.browser import PATIENCE_S, Person, Records
from bench.console import watched_runs
from bench.console.watched_runs import LiveRuns
from common import ports
from common.one_line import OneLineCommand
from common.waiting import wait_while
from lab.engines.live.appliance import Appliance
from lab.machine.description import describe_machine
from lab.machine.lock import live_run_lock
from lab.students.template import write_policy
from runtime.native.supervision import Supervisor
from runtime.settings import REPOSITORY, Settings, load
from runtime.state import State

PLAIN, HOSTILE = "a class", "a class and three attackers"
LESSONS = (PLAIN, HOSTILE)
ALONE = "without a class"
STUDENTS = 30
ATTACKERS = 3
SEEDS = 22
"""The number of live runs in each lesson, and the number of live runs without a class. A run takes
about 27 real seconds.
"""
RHO, SESSIONS = 1.4, 500
THINK_S = 6.0
"""The mean pause of a student between two pages, in real seconds."""
MEMORY_AIM_BYTES = int(2.5 * 2**30)
MEMORY_EVERY_S = 5.0
LEFT_OVER_S = 300.0

out = harness.console_of(110)


class Student(Person):
    """A student, who uses the console's pages in a random order during a lesson."""

    def __init__(self, *of_person: Any, seed: int) -> None:
        super().__init__(*of_person)
        self._random = random.Random(seed)
        self._imported = False

    def attend(self, over: threading.Event) -> None:
        """Carry out the student's actions until the lesson is over."""
        over.wait(self._random.uniform(0, 20))  # students do not all log in within one second
        self.log_in()
        self._launch()
        doings: Sequence[tuple[Callable[[threading.Event], None], int]] = (
            (self._look_around, 10),
            (self._watch, 3),
            (self._race, 3),
            (self._read_a_result, 6),
            (lambda over: self._launch(), 1),
            (self._check_policy, 1),
            (self._bring_a_result, 1),
        )
        while not over.wait(self._random.expovariate(1 / THINK_S)):
            [(do, _)] = self._random.choices(doings, [weight for _, weight in doings])
            do(over)

    def _look_around(self, over: threading.Event) -> None:
        pages = {
            "gallery": "/",
            "launch form": "/launch/lifo-pri-simulated/",
            "queue": "/launches/",
            "results": "/results/",
            "leaderboard": "/leaderboard/",
            "scoreboard": "/scoreboard/",
        }
        page = self._random.choice(list(pages))
        self.get(page, pages[page])

    def _watch(self, over: threading.Event) -> None:
        self.stream(self._random.uniform(10, 40), over)

    def _launch(self) -> None:
        form = {
            "title": f"{self.name} {self._random.randrange(10**6)}",
            "engine": "simulated",
            "policies": self._random.sample(["sq", "8q-af", "8q-lifo-pri", "door-lifo"], 2),
            "admission": ["none"],
            "abandonment": ["ignore"],
            "rho": self._random.choice(["0.85, 1.4", "1.4", "2"]),
            "sessions": self._random.choice([300, 600, 1200]),
            "repetitions": self._random.choice([1, 2, 3]),
            "page_profile": "paper",
            "seed": self._random.randrange(1000),
            "time_scale": 10,
        }
        self.post("predict", "/launch/lifo-pri-simulated/predict", form)
        answer = self.post("launch", "/launch/lifo-pri-simulated/", form)
        # After a refused launch, the answer is the page of the queue.
        if answer is not None and (page := re.search(r"/launches/[0-9a-f]+/$", answer.url)):
            self.get("launch, state", f"{page[0]}state")

    def _newest(self) -> str | None:
        answer = self.get("results", "/results/")
        # Only students' results, because attackers' imported results are shown as damaged, with
        # status 422.
        ours = r'href="/results/([^/"?]*student[^/"?]*)/"'
        names = [] if answer is None else re.findall(ours, answer.text)
        return self._random.choice(names) if names else None

    def _race(self, over: threading.Event) -> None:
        if name := self._newest():
            self.get("race", f"/race/?result={name}")

    def _read_a_result(self, over: threading.Event) -> None:
        if name := self._newest():
            self.get("a result", f"/results/{name}/")
            self.get("its curves", f"/results/{name}/curves.json")

    def _bring_a_result(self, over: threading.Event) -> None:
        if self._imported or (name := self._newest()) is None:
            return
        answer = self.get("bundle", f"/results/{name}/bundle.zip")
        if answer is not None and answer.ok:
            self._imported = True
            files = {"bundle": ("mine.zip", answer.content)}
            self.post("import", "/results/import", files=files)

    def _check_policy(self, over: threading.Event) -> None:
        with tempfile.TemporaryDirectory(prefix="doorbuster-class-") as folder:
            file, _ = write_policy("quiet-door", Path(folder))
            began_s = time.perf_counter()
            done = subprocess.run(
                ["nice", "-n", "19", _program("doorbuster"), "policy", "check", str(file)],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=10 * PATIENCE_S,
            )
            self._records.checks.append((time.perf_counter() - began_s, done.returncode))


def _program(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


@contextlib.contextmanager
def class_server(folder: Path) -> Iterator[Settings]:
    """Run an appliance with accounts and classroom mode in this folder, until the block ends."""
    names = [
        *("GATEWAY_PORT", "GATEWAY_TLS_PORT", "GATEWAY_ADMIN_PORT", "SHOP_PORT"),
        *("SHOP_CONTROLLER_PORT", "POSTGRES_PORT", "REDIS_PORT", "ADS_PORT", "LAB_PORT"),
        *("PROMETHEUS_PORT", "GRAFANA_PORT", "NODE_EXPORTER_PORT"),
        *("POSTGRES_EXPORTER_PORT", "REDIS_EXPORTER_PORT"),
    ]
    chosen = dict(zip(names, map(str, ports.free(len(names))), strict=True)) | {
        "STATE_DIR": str(folder / "state"),
        "RESULTS_DIR": str(folder / "results"),
        "LAB_ACCOUNTS": "1",
        "LAB_CLASSROOM": "1",
        "FIRST_LOOK": "0",
        "INNER_TOKEN_REQUIRED": "1",
    }
    if os.geteuid() == 0:
        folder.chmod(0o711)  # PostgreSQL runs under another account, which must enter the folder
    os.environ.update({f"DOORBUSTER_{name}": text for name, text in chosen.items()})
    os.environ["RUNTIME"] = "native"
    try:
        _runtime("up")
        yield load()
    finally:
        _runtime("down")


def _runtime(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "doorbuster", command],
        cwd=REPOSITORY,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,  # only this command gets Ctrl-C, and then stops the appliance
    )
    if done.returncode:
        raise click.ClickException(f"make {command} failed:\n{done.stdout}{done.stderr}")


def enrol(names: Sequence[str]) -> dict[str, str]:
    """Create the students' accounts; return each name with its password."""
    done = subprocess.run(
        [sys.executable, "-m", "doorbuster", "class", "students", "-"],
        cwd=REPOSITORY,
        input="\n".join(names),
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(line.split(",", 1) for line in done.stdout.splitlines())


class MemoryMeter:
    """The maximum memory use of every part of an appliance, sampled every few seconds.

    The meter adds up proportional set sizes, so that shared memory counts once. The memory of
    launches counts as memory of `lab-worker`, which starts the launches.
    """

    def __init__(self, lab: Settings) -> None:
        self._supervisor = Supervisor(State(lab.state_dir))
        self.most_bytes: dict[str, int] = defaultdict(int)
        self.most_total_bytes = 0

    def run(self, over: threading.Event) -> None:
        while not over.wait(MEMORY_EVERY_S):
            total = 0
            for name, state in self._supervisor.states().items():
                held = _pss_bytes(state.pid) if state.pid else 0
                self.most_bytes[name] = max(self.most_bytes[name], held)
                total += held
            self.most_total_bytes = max(self.most_total_bytes, total)


def machine() -> str:
    facts = describe_machine(load())
    busy = psutil.cpu_percent(2.0)
    return f"{facts['cpus']} x {facts['cpu']}, {busy:.0f} % busy, load {os.getloadavg()[0]:.1f}"


def _pss_bytes(process: int) -> int:
    held = 0
    with contextlib.suppress(psutil.Error):
        parent = psutil.Process(process)
        for one in (parent, *parent.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                held += one.memory_full_info().pss
    return held


@contextlib.contextmanager
def in_class(
    people: Sequence[Callable[[threading.Event], None]],
) -> Iterator[list[BaseException]]:
    """Run the functions in threads until the block ends; yield exceptions that ended threads."""
    over, faults = threading.Event(), list[BaseException]()

    def attend(one: Callable[[threading.Event], None]) -> None:
        try:
            one(over)
        except Exception as fault:
            faults.append(fault)

    threads = [threading.Thread(target=attend, args=(one,)) for one in people]
    for thread in threads:
        thread.start()
    try:
        yield faults
    finally:
        over.set()
        for thread in threads:
            thread.join()


@dataclass(frozen=True, slots=True)
class Waits:
    """The number of the class's launches by state, and each student's longest wait."""

    longest_s: dict[str, float]
    """The longest wait of each student's launches, in real seconds. Launches that still wait count,
    too.
    """
    ended: dict[str, int]
    """The number of launches in each state."""


def waits(lab: Settings, names: Sequence[str], since: datetime) -> Waits:
    """Return the waits and states of these students' launches since this time."""
    longest: dict[str, float] = defaultdict(float)
    ended: dict[str, int] = defaultdict(int)
    with _console_database(lab) as database:
        now = datetime.now(UTC)
        rows = database.execute(
            "select launch.by, asked_at, began_at, ended_at, state from console_launch launch"
        )
        for by, asked_at, began_at, ended_at, state in rows:
            if by in names and _time(asked_at) >= since:
                until = _time(began_at or ended_at) if began_at or ended_at else now
                longest[by] = max(longest[by], (until - _time(asked_at)).total_seconds())
                ended[state] += 1
    return Waits(dict(longest), dict(ended))


def _console_database(lab: Settings) -> contextlib.closing[sqlite3.Connection]:
    path = lab.state_dir / "console" / "console.sqlite3"
    return contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True))


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)  # as Django stores it


def _taught(runs: LiveRuns, kind: str, seeds: Sequence[int]) -> dict[int, watched_runs.Row]:
    """Carry out the teacher's live runs, one per seed; return the metrics of each run by seed."""
    rows = {}
    for seed in seeds:
        out.print(f"  live run, seed {seed}, {kind}")
        rows[seed] = runs.make(kind, seed)
    return rows


@click.command(cls=OneLineCommand)
@click.option("--students", default=STUDENTS, type=click.IntRange(1, 200), show_default=True)
@click.option("--seeds", default=SEEDS, type=click.IntRange(2, 60), show_default=True)
@click.option(
    "--alone",
    default=SEEDS,
    type=click.IntRange(2, 60),
    show_default=True,
    help="The number of live runs without a class, at most the number of seeds.",
)
@click.option(
    "--lesson",
    "lessons",
    type=click.Choice(LESSONS),
    multiple=True,
    help="The lesson to hold; by default, both.",
)
def main(students: int, seeds: int, alone: int, lessons: tuple[str, ...]) -> None:
    """Let a class of students watch and launch during the teacher's live runs."""
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="doorbuster-class-") as name:
        folder = Path(name)
        out.print("Starting a separate class server …")
        with class_server(folder) as lab, live_run_lock():
            os.sched_setaffinity(0, lab.other_cpus)  # only the shop uses its processor
            kinds = lessons or LESSONS
            found = _lessons(lab, folder, students, seeds, min(alone, seeds), kinds)
    out.print(f"Took {(time.monotonic() - began_s) / 60:.0f} min.")
    sys.exit(0 if found else 1)


def _lessons(
    lab: Settings, folder: Path, students: int, seeds: int, alone: int, kinds: Sequence[str]
) -> bool:
    names = [f"student{number:02}" for number in range(1, students + 1)]
    rogues = [f"rogue{number}" for number in range(1, ATTACKERS + 1)]
    passwords = enrol([*names, *rogues])
    out.print(f"Machine before: {machine()}. Measuring the shop's capacity …")
    live = LiveRuns(Appliance(lab), folder / "live", rho=RHO, sessions=SESSIONS)
    # Runs without a class come before, between and after the lessons, so that a slower machine does
    # not look like an effect of the class.
    seeds_alone = range(1, alone + 1)
    parts = len(kinds) + 1
    rows = _taught(live, ALONE, seeds_alone[::parts])
    taught = []
    for number, kind in enumerate(kinds, start=1):
        lesson = Lesson(kind, lab, names, rogues if kind == HOSTILE else [], passwords)
        with lesson.under_way():
            lesson.rows = _taught(live, kind, range(1, seeds + 1))
        taught.append(lesson)
        _until_idle(lab)
        rows |= _taught(live, ALONE, seeds_alone[number::parts])
    reached = [_report(lesson, rows) for lesson in taught]
    return all(reached)


class Lesson:
    def __init__(
        self,
        kind: str,
        lab: Settings,
        names: Sequence[str],
        rogues: Sequence[str],
        passwords: Mapping[str, str],
    ) -> None:
        self.kind = kind
        self.names = names
        self.records, self.attacks = Records(), Records()
        self.meter = MemoryMeter(lab)
        self.rows: Mapping[int, watched_runs.Row] = {}
        self.faults: Sequence[BaseException] = ()
        self.waits = Waits({}, {})
        self.lasted_s = 0.0
        self._lab = lab
        self._people = [
            Student(lab, one, passwords[one], self.records, seed=number).attend
            for number, one in enumerate(names)
        ] + [
            attacks.Attacker(Person(lab, one, passwords[one], self.attacks), number).attend
            for number, one in enumerate(rogues)
        ]

    @contextlib.contextmanager
    def under_way(self) -> Iterator[None]:
        """Let the students and attackers act until the block ends."""
        began_at, began_s = datetime.now(UTC), time.monotonic()
        with in_class([*self._people, self.meter.run]) as self.faults:
            yield
            self.lasted_s = time.monotonic() - began_s
        self.waits = waits(self._lab, self.names, began_at)


def _until_idle(lab: Settings) -> None:
    out.print("  waiting for the remaining launches")
    count = "select count(*) from console_launch where state in ('queued', 'running')"
    with _console_database(lab) as database:
        left = wait_while(lambda: next(database.execute(count))[0], LEFT_OVER_S, every_s=1)
    if left:
        out.print(
            f"  {left} launches have not finished after {LEFT_OVER_S:.0f} s and continue during "
            "the next step"
        )


def _report(lesson: Lesson, alone: Mapping[int, watched_runs.Row]) -> bool:
    seeds = [seed for seed in lesson.rows if seed in alone]
    compared = watched_runs.compared(
        [alone[seed] for seed in seeds], [lesson.rows[seed] for seed in seeds]
    )
    out.rule(f"{lesson.kind}: {len(lesson.names)} students for {lesson.lasted_s / 60:.1f} min")
    out.print(harness.times_table("Pages, ms", _times_ms(lesson.records)))
    out.print(_queue(lesson.waits))
    out.print(_memory(lesson.meter))
    title = f"{len(seeds)} pairs of live runs, {watched_runs.POLICY} at ρ = {RHO:g}"
    kinds = ("without", "with the class")
    out.print(watched_runs.table(f"{title}, {SESSIONS} sessions", kinds, compared))
    if lesson.attacks.answers:
        out.print(attacks.table(lesson.attacks.answers))
    return _verdict(lesson, compared)


def _verdict(lesson: Lesson, compared: Sequence[watched_runs.Compared]) -> bool:
    records, waited, meter = lesson.records, lesson.waits, lesson.meter
    errors = records.errors()
    kinds = Counter((one.page, one.status, re.sub(r"\s+", " ", one.words)[:100]) for one in errors)
    for (page, status, words), number in kinds.most_common(20):
        out.print(f"  error, {number} times: {page}: {status or 'no answer'} {words}", markup=False)
    for fault in lesson.faults:
        out.print(f"  error: {type(fault).__name__}: {fault}", markup=False)
    broken = attacks.broken(lesson.attacks.answers)
    failed = waited.ended.get("failed", 0) + waited.ended.get("interrupted", 0)
    checks = sum(status != 0 for _, status in records.checks)
    targets = {
        f"no error among {len(records.answers):,} answers": not errors and not lesson.faults,
        "no launch of a student failed": not failed,
        f"no check of a policy failed (of {len(records.checks)})": not checks,
        "memory of all parts is at most 2.5 GiB": meter.most_total_bytes <= MEMORY_AIM_BYTES,
        "no metric of the live runs is proven to differ by more than a result's interval": all(
            one.verdict != "beyond" for one in compared
        ),
        "no attack caused a server error, and each call without a token got status 401": not broken,
    }
    for target, is_reached in targets.items():
        out.print(f"{'✓' if is_reached else '✗'} {target}")
    return all(targets.values())


def _times_ms(records: Records) -> dict[str, list[float]]:
    by_page: dict[str, list[float]] = defaultdict(list)
    for one in records.answers:
        by_page[one.page].append(1000 * one.seconds)
    return dict(sorted(by_page.items()))


def _queue(waited: Waits) -> Table:
    table = harness.table("Longest wait of each student in the queue, s", "", "")
    longest = [*waited.longest_s.values()]
    for name, ratio in (("least", 0.0), ("median", 0.5), ("p95", 0.95), ("most", 1.0)):
        table.add_row(name, f"{harness.percentile(longest, ratio):.0f}" if longest else "–")
    for state, number in sorted(waited.ended.items()):
        table.add_row(f"launches {state}", str(number))
    return table


def _memory(meter: MemoryMeter) -> Table:
    table = harness.table("Highest memory, MiB", "", "")
    for name, held in sorted(meter.most_bytes.items(), key=lambda one: -one[1]):
        table.add_row(name, f"{held / 2**20:.0f}")
    table.add_row("all parts together", f"{meter.most_total_bytes / 2**20:.0f}")
    return table
