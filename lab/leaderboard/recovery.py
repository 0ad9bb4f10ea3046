"""The time that each policy of a board needs to recover after a one-minute rush.

For a live board, a second live comparison measures this time. The file recovery.json in the board's
folder stores the times of all policies.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gateway.policies import PolicyError
from lab.analysis import hysteresis
from lab.analysis.hysteresis import CONDUCTS, Conduct
from lab.errors import ExperimentError
from lab.files.documents import read, write_json
from lab.intervals import Estimate, estimate
from lab.leaderboard import HYSTERESIS, measures
from lab.leaderboard.ablation import ranked
from lab.leaderboard.measures import COURSE
from lab.report.drawing.table import Table
from lab.results.comparison import ComparisonResult
from lab.results.metrics import Metrics
from lab.results.result import made_here
from lab.results.study import Simulation, StudyResult
from lab.spec.cases import Case
from lab.spec.experiment import Spec, changed
from lab.spec.runs import ShopRun
from lab.wording import title_of

FILE: Final = "recovery.json"
"""The name of the file in a board's folder that stores the recoveries for later reports."""
NOT_NORMAL: Final = "not normal before"
"""The text for a policy under which response times were not normal even before the rush."""
PUBLISHED: Final = CONDUCTS[0]
"""The behaviour of the LIFO-Pri paper's customers, which boards use."""


RECOVERED: Final = (
    "“Recovered” is the time in paper seconds from the end of a rush until response times are "
    f"normal. The rush lasts {hysteresis.RUSH_S:g} s at ρ = {hysteresis.RUSH_RHO:g}; before and "
    f"after it, ρ = {hysteresis.CALM_RHO:g}. Response times are normal if their 95th percentile "
    "stays at or below twice its value before the rush. Values are means of the repetitions ± "
    "half-width of the 95 % interval. Requests that are turned away have no response time, so a "
    "policy that turns many requests away recovers soon by this measure, even if it sells little."
)
"""The explanation of the column “Recovered”."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """The recovery of one policy."""

    engine: str
    """The engine that ran the rush: `live` or `simulated`."""
    seconds: tuple[float | None, ...]
    """The paper seconds to recover in each repetition; None if the shop did not recover in the
    observed time."""
    was_normal: bool = True
    """Whether response times were normal before the rush; False if customers left even then, or if
    no request was answered."""

    @classmethod
    def of(cls, engine: str, runs: Sequence[Metrics]) -> "Recovery":
        """Return the recovery of one policy from its repetitions (`hysteresis.course_of`)."""
        return cls(engine, tuple(recoveries(runs)), was_normal(runs))

    def as_json(self) -> dict[str, Any]:
        """Return all values, and the texts that describe them, as JSON-ready values."""
        return {
            "engine": self.engine,
            "seconds": list(self.seconds),
            "was_normal": self.was_normal,
            "words": self.words,
            "mean": self.mean,
        }

    @property
    def estimate(self) -> Estimate | None:
        """The mean of the seconds to recover, with its interval; None unless `was_normal` and the
        shop recovered in every repetition."""
        known = [value for value in self.seconds if value is not None]
        complete = known and len(known) == len(self.seconds) and self.was_normal
        return estimate(known) if complete else None

    @property
    def mean(self) -> float | None:
        """The mean of `estimate`, as a sort key."""
        return self.estimate.mean if self.estimate else None

    @property
    def words(self) -> str:
        """The text for a table cell."""
        if not self.was_normal:
            return NOT_NORMAL
        if self.estimate:
            return self.estimate.text(0)
        known = [value for value in self.seconds if value is not None]
        if not known:
            return "never"
        never = len(self.seconds) - len(known)
        return f"{estimate(known).mean:.0f}; never in {never} of {len(self.seconds)}"


def recoveries(runs: Sequence[Metrics]) -> list[float | None]:
    """Return the paper seconds that one policy needed to recover in each repetition; None for a
    repetition in which it did not recover. The time after the last arrival does not count, because
    every queue then empties."""
    normal_s = hysteresis.normal_p95_s(calms(runs))
    return [
        hysteresis.recovered_s(
            hysteresis.as_numbers(run["response_p95_s"][: int(run["arrivals_until_s"])]), normal_s
        )
        for run in runs
    ]


def calms(runs: Sequence[Metrics]) -> list[float | None]:
    """Return the 95th percentile of response times in each repetition's calm before the rush."""
    return hysteresis.as_numbers([run["calm_p95_s"] for run in runs])


def was_normal(runs: Sequence[Metrics]) -> bool:
    """Return whether the percentile of the calm before the rush is known and finite."""
    return hysteresis.normal_p95_s(calms(runs)) is not None


def case_of(base: Spec, conduct: Conduct, policy: str, *, quick: bool) -> Case[ShopRun]:
    """Return the simulation of a rush for one policy of a board's spec."""
    load = {"schedule": hysteresis.schedule(quick=quick)}
    customers = {**base.customers.model_dump(exclude_none=True), **conduct.changes}
    spec = changed(base, leaderboard=False, load=load, customers=customers)
    return measures.case_of(spec, policy, COURSE)


def rush_of(board: Spec) -> Spec:
    """Return the spec of the live comparison that measures recovery, with the board's ranked
    policies and its seeds. The observed time after the rush is `hysteresis.QUICK_AFTER_S`."""
    return changed(
        board,
        title=f"{board.title}: recovery after a rush"[:200],
        leaderboard=False,
        policy=[
            board.choice(key).model_dump(mode="json", exclude_none=True) for key in ranked(board)
        ],
        load={"schedule": hysteresis.schedule(quick=True)},
    )


def gather(folder: ComparisonResult) -> dict[str, Recovery]:
    """Return the recovery of each policy. If results on this machine have recoveries, return these,
    and store them in the board's folder for later reports on other machines. Otherwise, return the
    recoveries that the board's folder stores."""
    spec = folder.spec()
    try:
        found = find(folder.path.parent, spec, folder.facts("versions"))
    except PolicyError:  # the file of a student's policy is lost
        found = {}
    if found:
        write_json(folder.path / FILE, {key: one.as_json() for key, one in found.items()})
        return found
    try:
        return read(folder.path / FILE, dict[str, Recovery])
    except ExperimentError:
        return {}


def find(results_dir: Path, board: Spec, versions: Any) -> dict[str, Recovery]:
    """Return the recoveries that this version measured on this machine with the board's engine.
    They come from the newest result that has every repetition of every ranked policy. If there is
    no such result, they come from the result with the most policies."""
    if board.engine == "live":
        every = _measured_live(results_dir, rush_of(board), versions)
    else:
        every = _simulated(results_dir, board, versions)
    best: dict[str, Recovery] = {}
    for runs in every:
        found = {key: Recovery.of(board.engine, known) for key, known in runs.items() if known}
        if is_complete(found, board):
            return found
        best = max(best, found, key=len)
    return best


def is_complete(found: Mapping[str, Recovery], board: Spec) -> bool:
    """Return whether every ranked row has every repetition."""
    return all(
        key in found and len(found[key].seconds) == board.repetitions for key in ranked(board)
    )


def table(board: Spec, found: Mapping[str, Recovery]) -> Table:
    """Return the table of recoveries, from the fastest to the slowest."""
    made = Table(
        "Seconds to recover after a one-minute rush",
        ("Policy", "Recovered after s", "Engine"),
        note=RECOVERED,
    )
    keys = sorted(
        (key for key in ranked(board) if key in found),
        key=lambda key: (found[key].mean is None, found[key].mean or 0.0),
    )
    made.rows.extend([(title_of(key), found[key].words, found[key].engine) for key in keys])
    return made


def how(board: Spec) -> str:
    """Return a sentence with the commands that measure and show recoveries."""
    engine = " --engine live" if board.engine == "live" else ""
    return (
        f"To measure them, run `doorbuster leaderboard hysteresis{engine}`, then `doorbuster "
        "results draw`."
    )


Runs = Mapping[str, Sequence[Metrics]]
"""The repetitions of each policy in one result."""


def _simulated(results_dir: Path, board: Spec, versions: Any) -> Iterator[Runs]:
    seeds = range(board.seed, board.seed + board.repetitions)
    cases = {
        quick: {key: case_of(board, PUBLISHED, key, quick=quick) for key in ranked(board)}
        for quick in (False, True)
    }
    for path in made_here(results_dir, "reproduction.json"):
        store = StudyResult(path)
        with suppress(ExperimentError, LookupError, TypeError):  # a damaged folder
            facts = store.facts()
            if facts.get("paper") == HYSTERESIS and facts.get("versions") == versions:
                by_policy = cases[bool(facts.get("quick"))]
                results = store.results(
                    Simulation(case, seed) for case in by_policy.values() for seed in seeds
                )
                yield {key: results.of(case) for key, case in by_policy.items()}


def _measured_live(results_dir: Path, rush: Spec, versions: Any) -> Iterator[Runs]:
    until_s = rush.load.arrivals_s or 0.0
    for path in made_here(results_dir, "plan.json"):
        folder = ComparisonResult(path)
        with suppress(ExperimentError):
            spec = folder.spec()
            if spec.fingerprint == rush.fingerprint and folder.facts("versions") == versions:
                runs: dict[str, list[Metrics]] = {}
                for planned, run in folder.whole_runs():
                    course = hysteresis.course_of(
                        run.attempts(), run.samples().to_pydict(), until_s
                    )
                    runs.setdefault(planned.policy, []).append(course)
                yield runs
