"""Write the page docs/policy-api.md, which explains every event and verdict of a policy with an
example.

`make pages` writes the page. A test compares the page with the code and runs every example.
"""

import inspect
import textwrap
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from gateway.policies import interface
from gateway.policies.interface import Policy
from gateway.students import purity
from gateway.students.limits import IN_THE_GATEWAY, WITHOUT_CUSTOMERS

_HEAD: Final = """# A policy's events and verdicts

`make pages` writes this page from `gateway/policies/interface.py`, and a
test runs every example. [A policy of your own](own-policy.md) shows the way from an empty file to
the scoreboard.

A policy is a Python object. The gateway or the simulator is the policy's *driver*. For each
*event*, the driver calls a method of the policy, and the policy answers with *verdicts*. A request
without a verdict waits, so the policy must remember this request. After every event, the driver
calls `workers_free` once if workers are free and a request waits. A request that this call does
not dispatch waits for the next event.

Events and verdicts use paper seconds, and time never goes backwards. A policy must not read a clock
or open files, and must draw random numbers only from its `random.Random(seed)`. With the same
events, the policy therefore makes the same decisions again.
"""

_EXAMPLES: Final[dict[str, str]] = {
    "Request": '''
request = Request(7, Page.DETAILS, 12.5, session="a", session_is_new=False, attempt=2)
assert request.id == 7 and request.page == "Br-4" and not request.page.is_transaction
assert request.arrived_s == 12.5  # the time of its arrival
assert request.attempt == 2  # the customer has tried once before
''',
    "arrival": '''
class Polite(IgnoringPolicy):
    """Drops a request that would be the fourth to wait."""

    def __init__(self):
        self.line = Line(capacity=3)

    def arrival(self, time_s, request):
        if self.line.is_full:
            return (Drop(request.id, "three wait already"),)
        self.line.append(request)
        return NOTHING  # the request waits

policy = Polite()
for id in (1, 2, 3):
    assert policy.arrival(0.0, Request(id, Page.HOME, 0.0)) == NOTHING
assert policy.arrival(0.5, Request(4, Page.HOME, 0.5)) == (Drop(4, "three wait already"),)
''',
    "workers_free": '''
class OldestFirst(IgnoringPolicy):
    def __init__(self):
        self.line = Line(capacity=100)

    def arrival(self, time_s, request):
        self.line.append(request)
        return NOTHING

    def workers_free(self, time_s, free):
        number = min(free, len(self.line))  # at most one request for each free worker
        return [Dispatch(self.line.take(Discipline.FIFO).id) for _ in range(number)]

policy = OldestFirst()
for id in (1, 2, 3):
    policy.arrival(0.0, Request(id, Page.HOME, 0.0))
assert policy.workers_free(1.0, 2) == [Dispatch(1), Dispatch(2)]
assert policy.workers_free(1.5, 5) == [Dispatch(3)]  # only one was left
''',
    "completion": '''
class OrphanCounter(IgnoringPolicy):
    """Counts the answers that came too late."""

    def __init__(self):
        self.line, self.ended, self.orphans = Line(capacity=100), 0, 0

    def arrival(self, time_s, request):
        self.line.append(request)
        return NOTHING

    def workers_free(self, time_s, free):
        number = min(free, len(self.line))
        return [Dispatch(self.line.take(Discipline.FIFO).id) for _ in range(number)]

    def completion(self, time_s, id, outcome):
        self.ended += 1
        self.orphans += outcome is Outcome.ORPHANED
        return NOTHING

policy = OrphanCounter()
for id in (1, 2):
    policy.arrival(0.0, Request(id, Page.HOME, 0.0))
assert policy.workers_free(0.0, 30) == [Dispatch(1), Dispatch(2)]
policy.completion(0.3, 1, Outcome.ANSWERED)
policy.completion(9.3, 2, Outcome.ORPHANED)
assert (policy.ended, policy.orphans) == (2, 1)
''',
    "abandonment": '''
class Attentive(IgnoringPolicy):
    """Removes the requests of customers who have left."""

    def __init__(self):
        self.line = Line(capacity=100)

    def arrival(self, time_s, request):
        self.line.append(request)
        return NOTHING

    def abandonment(self, time_s, id):
        if id not in self.line:
            return NOTHING  # the request stays in service
        self.line.remove(id)
        return (Cancel(id),)

policy = Attentive()
policy.arrival(0.0, Request(1, Page.HOME, 0.0))
assert policy.abandonment(9.0, 1) == (Cancel(1),)
assert len(policy.line) == 0
''',
    "withdraw": '''
line = Line(capacity=100)
line.append(Request(1, Page.HOME, 0.0))
line.append(Request(2, Page.HOME, 0.1))

def withdraw(time_s, id):
    line.remove(id)  # from any position; `withdraw` returns no verdict

withdraw(8.0, 1)
assert [request.id for request in line] == [2]
''',
    "load_sample": '''
class NewestWhenBusy(IgnoringPolicy):
    """Serves the newest request first while the CPU is fully busy."""

    def __init__(self):
        self.discipline = Discipline.FIFO

    def load_sample(self, time_s, sample):
        busy = sample.cpu_utilisation_ratio > 0.98
        self.discipline = Discipline.LIFO if busy else Discipline.FIFO
        return NOTHING

policy = NewestWhenBusy()
policy.load_sample(1.0, LoadSample(cpu_utilisation_ratio=0.999, busy_workers=30, interval_s=1.0))
assert policy.discipline is Discipline.LIFO
''',
    "timer_due": '''
class SixSeconds(IgnoringPolicy):
    """Rejects a request that has waited for six seconds."""

    def __init__(self):
        self.line = Line(capacity=100)

    def arrival(self, time_s, request):
        self.line.append(request)
        return NOTHING

    def next_timer_s(self):
        oldest = next(iter(self.line), None)
        return None if oldest is None else oldest.arrived_s + 6.0

    def timer_due(self, time_s):
        late = [request.id for request in self.line if time_s - request.arrived_s >= 6.0]
        for id in late:
            self.line.remove(id)  # so that next_timer_s returns a later time
        return [Reject(id, "we are very busy", retry_after_s=300.0) for id in late]

policy = SixSeconds()
policy.arrival(1.0, Request(1, Page.HOME, 1.0))
assert policy.next_timer_s() == 7.0
assert policy.timer_due(7.0) == [Reject(1, "we are very busy", 300.0)]
assert policy.next_timer_s() is None
''',
    "next_timer_s": '''
from gateway.policies.base import IgnoringPolicy

assert IgnoringPolicy().next_timer_s() is None  # a policy without timers need not define it
''',
    "adopt": '''
returning, newcomers = Line(capacity=100), Line(capacity=1)

def adopt(time_s, requests):
    for request in requests:  # all requests, even beyond the capacity, so that none is lost
        (newcomers if request.session_is_new else returning).append(request)

adopt(5.0, [Request(id, Page.HOME, float(id), "s", session_is_new=True) for id in range(3)])
assert len(newcomers) == 3 and newcomers.is_full
''',
    "waiting": '''
returning, newcomers = Line(capacity=100), Line(capacity=100)
returning.append(Request(1, Page.HOME, 0.0))
newcomers.append(Request(2, Page.HOME, 0.5))
returning.append(Request(3, Page.HOME, 1.0))
assert [request.id for request in oldest_first([returning, newcomers])] == [1, 2, 3]
''',
    "snapshot": '''
import json

def snapshot():
    return {"discipline": "FIFO", "queues": {"returning": 4, "newcomers": 31}, "turned_away": 7}

assert json.loads(json.dumps(snapshot())) == snapshot()
''',
    "Dispatch": '''
assert Dispatch(7).id == 7
''',
    "Drop": '''
assert Drop(7, "too many wait").reason == "too many wait"
''',
    "Reject": '''
verdict = Reject(7, "we are very busy", retry_after_s=300.0)
assert (verdict.id, verdict.retry_after_s) == (7, 300.0)
''',
    "Cancel": '''
assert Cancel(7).id == 7  # in service, or waiting although its customer has left
''',
}  # fmt: skip
"""For each event, verdict or class, the example: code that runs after the code of `PREAMBLE`."""

PREAMBLE: Final = """\
from gateway.policies.base import IgnoringPolicy, Line, oldest_first
from gateway.policies.discipline import Discipline
from gateway.policies.interface import (
    NOTHING, Cancel, Dispatch, Drop, LoadSample, Outcome, Page, Reject, Request,
)
"""

EVENTS: Final = (
    "arrival", "workers_free", "completion", "abandonment", "withdraw", "load_sample", "timer_due",
    "next_timer_s", "adopt", "waiting", "snapshot",
)  # fmt: skip
VERDICTS: Final = ("Dispatch", "Drop", "Reject", "Cancel")
_MUST: Final = ("arrival", "workers_free", "withdraw", "adopt", "waiting", "snapshot")


def examples() -> dict[str, str]:
    """Return every example as complete code that can run."""
    return {name: f"{PREAMBLE}\n{code.strip()}\n" for name, code in _EXAMPLES.items()}


class Entry(NamedTuple):
    """An entry of the page: an event, a verdict, or the request."""

    kind: str
    name: str
    signature: str
    meaning: str
    """The entry's Markdown text."""
    example: str


def entries() -> list[Entry]:
    """Return all entries of the page in order."""
    return [
        _entry("Request", "Request", interface.Request),
        *(_entry("Event", name, getattr(Policy, name)) for name in EVENTS),
        *(_entry("Verdict", name, getattr(interface, name)) for name in VERDICTS),
    ]


def page() -> str:
    return "\n".join(_lines()).rstrip() + "\n"


def _lines() -> Iterator[str]:
    yield _HEAD
    yield "Every example begins with this code:\n"
    yield f"```python\n{PREAMBLE}```\n"
    by_kind: dict[str, list[Entry]] = {}
    for entry in entries():
        by_kind.setdefault(entry.kind, []).append(entry)
    yield "## What a request is\n"
    yield from _written(by_kind["Request"])
    yield "### Pages, outcomes, load\n"
    pages = ", ".join(f"`{one}` ({one.name.lower()})" for one in interface.Page)
    yield f"The page types, `Page`, are {pages}; `page.is_transaction` is true for the last four.\n"
    yield "The `Outcome` shows how a dispatched request ended:\n"
    yield from _outcomes()
    yield (
        "\nA `LoadSample(cpu_utilisation_ratio, busy_workers, interval_s)` contains the server's "
        "load over the last utilisation interval.\n"
    )
    yield "## Events\n"
    yield (
        f"Every policy must define {', '.join(f'`{one}`' for one in _MUST)}; the base "
        "class `IgnoringPolicy` ignores all other events.\n"
    )
    yield from _written(by_kind["Event"])
    yield "## Verdicts\n"
    yield (
        "When you give a verdict on a waiting request, also remove the request from your queue.\n"
    )
    yield from _written(by_kind["Verdict"])
    yield "## What is refused\n"
    yield from _refused()
    yield "\n## What a file may import\n"
    modules = ", ".join(f"`{one}`" for one in purity.MODULES)
    yield f"A file may import `gateway.policies` and, from the standard library, {modules}."


def _refused() -> Iterator[str]:
    yield (
        "Each of these faults ends the policy's process, in the gateway and in the simulator. "
        "From then on, SQ (FIFO) decides instead. *Watch*, the gateway's metrics and the result "
        "of the run show the fault.\n"
    )
    gateway, simulator = IN_THE_GATEWAY, WITHOUT_CUSTOMERS
    yield from (
        "* a verdict on a request that does not wait, except `Cancel` for a request in service; "
        "two verdicts on the same request in one answer;",
        "* `Dispatch` as an answer to an event other than `workers_free`, or more `Dispatch` "
        "verdicts than `free`;",
        "* `Cancel` for a waiting request whose customer is still there;",
        "* an answer other than a tuple or list of verdicts; a reason other than 1 to 200 "
        "printable characters;",
        "* an exception;",
        f"* an answer that takes longer than {gateway.decision_s:g} real seconds "
        f"({simulator.decision_s:g} in the simulator);",
        f"* the use of more than {gateway.memory_bytes // 2**20} MiB of memory;",
        "* in the gateway, answers that keep a CPU busy for more than "
        f"{100 * gateway.share_ratio:g} % of the time;",
        f"* no request in service for {gateway.silence_s:g} paper seconds while workers are free "
        "and a request waits;",
        f"* more than {gateway.waiting:,} waiting requests, or more than {gateway.timers} calls of "
        "`timer_due` within a paper second.",
    )


def _entry(kind: str, name: str, what: Any) -> Entry:
    return Entry(kind, name, _signature(name, what), _doc(what), _EXAMPLES[name].strip())


def _written(some: list[Entry]) -> Iterator[str]:
    for entry in some:
        yield f"### {entry.name}\n"
        yield f"```python\n{entry.signature}\n```\n"
        yield f"{entry.meaning}\n"
        yield f"```python\n{entry.example}\n```\n"


def _signature(name: str, what: Any) -> str:
    if inspect.isclass(what):
        return f"{name}({', '.join(what._fields)})"  # type: ignore[attr-defined]  # a NamedTuple
    text = str(inspect.signature(what)).replace("self, ", "").replace("(self)", "()")
    for long in ("gateway.policies.interface.", "collections.abc."):
        text = text.replace(long, "")
    verdict = "Dispatch | Drop | Reject | Cancel"
    return f"{name}{text}".replace(f"Sequence[{verdict}]", "Verdicts").replace("'", "")


def _doc(what: Any) -> str:
    return textwrap.dedent(inspect.getdoc(what) or "")


def _outcomes() -> Iterator[str]:
    source = inspect.getsource(interface.Outcome)
    for line in source.splitlines():
        name, equals, rest = line.strip().partition(" = ")
        if equals and name.isupper() and "#" in rest:
            yield f"* `{name}`: {rest.partition('#')[2].strip()}"
