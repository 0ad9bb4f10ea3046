"""The pydantic models of the console's API: they check input and define the OpenAPI document."""

from datetime import datetime
from typing import Annotated, Any, Literal

from ninja import P, PathEx
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from common.http_api import Body, Query, Reply
from gateway.students.files import MOST_BYTES
from lab.console.models import MOST_NOTE_CHARACTERS, State
from lab.console.people.accounts import MOST_NAME_LENGTH, MOST_NAMES
from lab.console.scoreboard.submissions import NAMES, PATTERN

Optional = SkipJsonSchema[None]
Choices = Annotated[list[str], Field(min_length=1, max_length=100)]
StateName = Literal["queued", "running", "done", "cancelled", "interrupted", "failed"]
LaunchId = PathEx[str, P(description="id of the launch")]
ResultName = PathEx[str, P(description="name of the result")]
AccountName = PathEx[str, P(description="name of the account")]
assert set(StateName.__args__) == set(State.values)  # type: ignore[attr-defined]

# ---- people --------------------------------------------------------------------------------------


class Me(Reply):
    """The caller of the API."""

    name: str = Field(description="name of the account; empty if the console has no accounts")
    role: Literal["student", "teacher"] = Field(
        description="the role that decides what the caller may do"
    )


class Account(Reply):
    """An account."""

    name: str = Field(description="name with which the person logs in")
    role: Literal["student", "teacher"] = Field(
        description="the role that decides what the person may do"
    )
    is_enabled: bool = Field(description="whether the person can log in")
    last_login: datetime | None = Field(description="time of the last login; null before the first")
    waiting: int = Field(description="launches that wait")
    running: int = Field(description="launches that run")


class Accounts(Reply):
    """All accounts, sorted by name."""

    accounts: list[Account] = Field(description="the accounts")


class NewStudents(Body):
    """The names for new student accounts."""

    names: list[Annotated[str, Field(max_length=MOST_NAME_LENGTH)]] = Field(
        min_length=1, max_length=MOST_NAMES, description=f"a list of 1 to {MOST_NAMES} names"
    )


class NewAccount(Reply):
    """A new account and its password. Only this answer contains the password."""

    name: str = Field(description="name of the account")
    password: str = Field(description="generated password")


class MadeStudents(Reply):
    """The new accounts, and the requested names that already belong to accounts."""

    made: list[NewAccount] = Field(description="the new accounts")
    existing: list[str] = Field(
        description="requested names that already belong to accounts; the call does not change "
        "these accounts"
    )


# ---- launches ------------------------------------------------------------------------------------


class Experiment(Reply):
    """An experiment that comes with Doorbuster."""

    name: str = Field(description="name with which a call launches the experiment")
    title: str = Field(description="title in the console")
    question: str = Field(description="the question that the experiment answers")
    engine: Literal["live", "simulated"] = Field(description="engine that runs it")
    takes_options: bool = Field(
        description="whether a launch can have options; false if the experiment has no spec"
    )
    expected_s: float = Field(
        description="predicted duration on the console's machine, in real seconds"
    )


class Experiments(Reply):
    """All experiments that come with Doorbuster."""

    experiments: list[Experiment] = Field(description="the experiments")


class Options(Body):
    """Changes to an experiment. The console's launch form has the same fields."""

    title: str | Optional = Field(None, max_length=200, description="text of 1 to 200 characters")
    engine: str | Optional = Field(None, description="live or simulated")
    policies: Choices | Optional = Field(None, description="a list of policies")
    gateway: Choices | Optional = Field(
        None, description="a list of baseline proxies; only for live runs"
    )
    admission: Choices | Optional = Field(None, description="a list of session admissions")
    abandonment: Choices | Optional = Field(None, description="a list of abandonments")
    rho: list[float] | Optional = Field(
        None, min_length=1, max_length=100, description="a list of offered loads; 1 is the capacity"
    )
    sessions: int | Optional = Field(None, description="sessions in each run")
    duration_s: float | Optional = Field(
        None,
        description=(
            "the period in which sessions arrive, in paper seconds; it replaces the number of "
            "sessions"
        ),
    )
    at_once: bool | Optional = Field(
        None, description="whether several live runs take place at the same time"
    )
    repetitions: int | Optional = Field(
        None, description="the number of runs for each policy and load"
    )
    page_profile: str | Optional = Field(None, description="the page profile: paper, cpu or real")
    seed: int | Optional = Field(None, description="the seed of the first repetition")
    time_scale: float | Optional = Field(
        None, description="paper seconds per real second; only for live runs"
    )


class NewLaunch(Body):
    """An experiment to launch. Give exactly one of `name`, `spec` and `toml`."""

    name: str | Optional = Field(
        None, max_length=100, description="the name of an experiment in `GET /api/experiments`"
    )
    options: Options | Optional = Field(None, description="changes to the experiment `name`")
    spec: dict[str, Any] | Optional = Field(None, description="a spec as an object")
    toml: str | Optional = Field(None, description="a spec as TOML")


class LaunchesQuery(Query):
    """A query that selects launches from the queue."""

    by: str = Field(
        "",
        max_length=MOST_NAME_LENGTH,
        description="the name of a person; the answer lists only this person's launches",
    )


class Launch(Reply):
    """A launch. All durations are in real seconds."""

    id: str = Field(description="the id in the paths of calls about this launch")
    title: str = Field(description="title of the experiment")
    engine: Literal["live", "simulated"] = Field(description="engine that runs it")
    state: StateName = Field(description="present state")
    by: str = Field(
        description="the person who launched the experiment; empty if the console launched it or "
        "has no accounts"
    )
    asked_at: datetime = Field(description="time at which the launch was submitted")
    began_at: datetime | None = Field(description="time at which the launch began to run, or null")
    ended_at: datetime | None = Field(description="time at which the launch ended, or null")
    expected_s: float = Field(description="predicted duration")
    left_s: float | None = Field(
        description="approximate remaining time; null if the launch is not running or has already "
        "taken longer than predicted"
    )
    position: int | None = Field(description="position of a waiting launch in the queue")
    starts_in_s: float | None = Field(description="approximate time until a waiting launch begins")
    done_ratio: float = Field(description="the completed share of the launch, from 0 to 1")
    progress: str = Field(description="the current step of the launch, in words")
    result: str = Field(
        description="the name of the launch's result; empty until the result exists"
    )
    reason: str = Field(description="why the launch failed or was interrupted; otherwise empty")


class Launches(Reply):
    """The running, the waiting and the latest ended launches."""

    running: list[Launch] = Field(description="the running launches")
    waiting: list[Launch] = Field(
        description="the waiting launches in the order in which they will run"
    )
    ended: list[Launch] = Field(description="the latest ended launches")


# ---- results -------------------------------------------------------------------------------------


class ResultsQuery(Query):
    """A query that selects results from the list."""

    words: str = Field(
        "",
        max_length=100,
        description="words to search for in the title, the name, the policies and the date",
    )
    engine: Literal["", "live", "simulated"] = Field("", description="only this engine")
    page: int = Field(1, ge=1, le=1_000_000, description="number of the wanted page of the list")


class Result(Reply):
    """A result in the result list."""

    name: str = Field(description="the name in the paths of calls about this result")
    title: str = Field(description="title in the console")
    kind: Literal["comparison", "reproduction"] = Field(
        description="a comparison of policies, or a report, for example on a paper"
    )
    engine: str = Field(description="engine that ran it")
    origin: Literal["here", "imported", "reference"] = Field(
        description="whether the result was made here, was imported, or comes with Doorbuster"
    )
    by: str = Field(
        description="the person who launched or imported the result; “Doorbuster” for reference "
        "results; empty if unknown"
    )
    took_s: float | None = Field(
        description="duration of the last launch, or of a reference result's command, in real "
        "seconds; null if unknown"
    )
    began_at: datetime | None = Field(
        description="time at which the experiment began or a reference result was made; null if "
        "unknown"
    )
    made: int = Field(description="complete runs")
    planned: int = Field(description="planned runs")
    damage: str = Field(description="why the result cannot be read; empty if it can be read")


class Results(Reply):
    """One page of the result list: the newest results first, the reference results last."""

    results: list[Result] = Field(description="the results of this page")
    page: int = Field(description="number of this page")
    pages: int = Field(description="number of pages")


class Table(Reply):
    """A table of a result, as text."""

    title: str = Field(description="title of the table")
    header: list[str] = Field(description="heads of the columns")
    rows: list[list[str]] = Field(description="rows of cells")
    note: str = Field(description="explanation below the table")


class Summary(Result):
    """The summary of one result."""

    policies: list[str] = Field(description="the keys of the compared policies")
    verdict: list[str] = Field(
        description="the conclusion: a sentence for each load of a comparison, or sentences about "
        "a report's claims"
    )
    warnings: list[str] = Field(description="warnings about the runs")
    checks: list[str] = Field(description="checks and conditions of the runs")
    tables: list[Table] = Field(
        description="the tables; the first table of a comparison has the main results"
    )
    claims: list[dict[str, str]] = Field(description="the claims of a reproduction")
    spec: str = Field(description="the spec as TOML; empty for a reproduction")
    machine: dict[str, Any] = Field(description="description of the machine")
    versions: dict[str, Any] = Field(description="versions of the programs")
    notes: int = Field(description="number of notes")


class Imported(Reply):
    """The result made from an imported bundle."""

    name: str = Field(description="name of the new result")
    warnings: list[str] = Field(
        description="why the database of the dashboards lacks some runs; otherwise empty"
    )


class NewNote(Body):
    """A new note on a result."""

    text: str = Field(
        min_length=1,
        max_length=MOST_NOTE_CHARACTERS,
        description=f"text of 1 to {MOST_NOTE_CHARACTERS:,} characters",
    )


class Note(Reply):
    """A note on a result."""

    by: str = Field(description="author; empty if the console has no accounts")
    at: datetime = Field(description="time of the note")
    text: str = Field(description="text of the note")


class Notes(Reply):
    """The notes on a result, from the oldest note to the newest note."""

    notes: list[Note] = Field(description="the notes")


# ---- the scoreboard ------------------------------------------------------------------------------


class Efficiency(Reply):
    """An estimated revenue efficiency. The value 1 is the capacity bound."""

    mean: float = Field(description="mean of the repetitions")
    half_width: float | None = Field(description="half the width of the 95 % interval")


class NewPolicy(Body):
    """A policy for the scoreboard. If the console has accounts, the caller becomes its author."""

    name: str = Field(pattern=PATTERN, description=NAMES)
    text: str = Field(
        min_length=1,
        max_length=MOST_BYTES,
        description=f"the text of the file, at most {MOST_BYTES:,} bytes",
    )


class Row(Reply):
    """A row of the scoreboard."""

    place: int | None = Field(
        description="the position; null if far fewer customers bought than the estimate predicts"
    )
    policy: str = Field(description="key of the policy in the result's spec")
    title: str = Field(description="title of the policy")
    by: str = Field(
        description="the person who submitted the policy, or the author named in its file; “the "
        "project” for known policies"
    )
    overall: Efficiency = Field(description="the mean efficiency over the loads")
    loads: dict[str, Efficiency] = Field(description="the efficiency at each offered load")
    confirms: float = Field(description="number of confirms in all runs")
    expected: float = Field(description="the number of confirms that the estimate predicts")
    fallen_back: str | None = Field(
        description="why FIFO replaced the policy during a run; null if FIFO never replaced it"
    )
    result: str = Field(description="name of the result with the runs")
    played_at: str = Field(description="time of the runs")


class Scoreboard(Reply):
    """The scoreboard: the rows from the best to the worst, then the rows without a position."""

    rows: list[Row] = Field(description="the rows")
    is_reference: bool = Field(
        description=("true if this lab has no rows yet, so the rows come from the reference result")
    )
