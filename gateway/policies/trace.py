"""A policy's decision trace: functions that record a policy's events and verdicts, write them to a
file and replay them.

This is the only module of the package that uses files.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gateway.policies.interface import (
    LoadSample,
    Outcome,
    Page,
    Policy,
    Request,
    Verdict,
    Verdicts,
)

Said = tuple[object, ...]
"""A verdict as plain values: its kind, then its fields, e.g. ("drop", 3, "queue full (100)")."""


class TraceError(ValueError):
    """The error for an invalid trace file; the message is one line that names the file and the
    line.
    """


class Event(NamedTuple):
    """One call of a policy: the method's name, the arguments, and the policy's verdicts."""

    name: str
    time_s: float
    told: tuple[Any, ...]
    verdicts: tuple[Said, ...] = ()


def said(verdicts: Verdicts) -> tuple[Said, ...]:
    """Return verdicts as plain values that include the kind: two named tuples of different kinds
    can be equal.
    """
    return tuple((_kind(verdict), *verdict) for verdict in verdicts)


class Recorded:
    """A policy that behaves like the policy it wraps and records every event with its verdicts."""

    def __init__(self, policy: Policy) -> None:
        self.name = policy.name
        self.policy = policy
        self.events: list[Event] = []

    def arrival(self, time_s: float, request: Request) -> Verdicts:
        return self._keep("arrival", time_s, (request,), self.policy.arrival(time_s, request))

    def workers_free(self, time_s: float, free: int) -> Verdicts:
        return self._keep("workers_free", time_s, (free,), self.policy.workers_free(time_s, free))

    def completion(self, time_s: float, id: int, outcome: Outcome) -> Verdicts:
        verdicts = self.policy.completion(time_s, id, outcome)
        return self._keep("completion", time_s, (id, outcome), verdicts)

    def abandonment(self, time_s: float, id: int) -> Verdicts:
        return self._keep("abandonment", time_s, (id,), self.policy.abandonment(time_s, id))

    def withdraw(self, time_s: float, id: int) -> None:
        self.policy.withdraw(time_s, id)
        self._keep("withdraw", time_s, (id,), ())

    def load_sample(self, time_s: float, sample: LoadSample) -> Verdicts:
        return self._keep("load_sample", time_s, (sample,), self.policy.load_sample(time_s, sample))

    def timer_due(self, time_s: float) -> Verdicts:
        return self._keep("timer_due", time_s, (), self.policy.timer_due(time_s))

    def next_timer_s(self) -> float | None:
        return self.policy.next_timer_s()

    def adopt(self, time_s: float, requests: Sequence[Request]) -> None:
        self.policy.adopt(time_s, requests)
        self._keep("adopt", time_s, (tuple(requests),), ())

    def waiting(self) -> Sequence[Request]:
        return self.policy.waiting()

    def snapshot(self) -> Mapping[str, object]:
        return self.policy.snapshot()

    def _keep(
        self, name: str, time_s: float, told: tuple[Any, ...], verdicts: Verdicts
    ) -> Verdicts:
        self.events.append(Event(name, time_s, told, said(verdicts)))
        return verdicts


def replay(events: Iterable[Event], policy: Policy) -> list[tuple[Said, ...]]:
    """Pass the events to `policy`, and return its verdicts for each event."""
    return [said(getattr(policy, event.name)(event.time_s, *event.told) or ()) for event in events]


def write(path: Path, events: Iterable[Event]) -> None:
    """Write the events as JSON lines, with all digits of times and ratios."""
    with path.open("w", encoding="utf-8") as file:
        for event in events:
            row = {
                "event": event.name,
                "time_s": event.time_s,
                "told": [_plain(value) for value in event.told],
                "verdicts": event.verdicts,
            }
            file.write(json.dumps(row) + "\n")


def read(path: Path) -> list[Event]:
    """Read the events from a file that `write` wrote; raise TraceError for any other file."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise TraceError(f"{path}: must be UTF-8 text") from None
    events: list[Event] = []
    for number, line in enumerate(lines, start=1):
        try:
            events.append(_event(json.loads(line)))
        except json.JSONDecodeError:
            raise TraceError(f"{path}:{number}: must be JSON") from None
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            raise TraceError(f"{path}:{number}: {_in_words(error)}") from None
        if len(events) > 1 and events[-1].time_s < events[-2].time_s:
            raise TraceError(f"{path}:{number}: time_s: must not be before the previous line's")
    return events


# ---- events as plain values ----------------------------------------------------------------------


def _kind(verdict: Verdict) -> str:
    return type(verdict).__name__.lower()


def _plain(value: Any) -> Any:
    if isinstance(value, LoadSample):
        return [value.cpu_utilisation_ratio, value.busy_workers, value.interval_s]
    return [_plain(inner) for inner in value] if isinstance(value, tuple) else value


def _event(row: Any) -> Event:
    if not isinstance(row, dict):
        raise TypeError("must be an event, a JSON object")
    name, told = row["event"], row["told"]
    if not isinstance(name, str) or name not in _READERS:
        raise ValueError(f"event: {name!r} is unknown; allowed: {', '.join(_READERS)}")
    readers = _READERS[name]
    if not isinstance(told, list) or len(told) != len(readers):
        raise ValueError(f"`told`: must be a list of length {len(readers)} for {name}")
    time_s = _number(row["time_s"], "time_s")
    values = tuple(reader(value) for reader, value in zip(readers, told, strict=True))
    return Event(name, time_s, values, tuple(_verdict(verdict) for verdict in row["verdicts"]))


def _number(value: Any, field: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{field}: {value!r} is not a number")
    return float(value)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"`told`: {value!r} is not a whole number")
    return value


def _request(value: Any) -> Request:
    id, page, arrived_s, session, session_is_new, attempt = value
    if not (session is None or isinstance(session, str)) or not isinstance(session_is_new, bool):
        raise ValueError("`told`: session must be text or null, and session_is_new true or false")
    arrived_s = _number(arrived_s, "told")
    return Request(_whole(id), Page(page), arrived_s, session, session_is_new, _whole(attempt))


def _requests(value: Any) -> tuple[Request, ...]:
    return tuple(_request(request) for request in value)


def _sample(value: Any) -> LoadSample:
    ratio, busy_workers, interval_s = value
    return LoadSample(_number(ratio, "told"), _whole(busy_workers), _number(interval_s, "told"))


def _verdict(value: Any) -> Said:
    kind, id, *rest = value
    if _VERDICTS.get(kind) != len(rest):
        raise ValueError(f"verdicts: {value!r} is not a verdict; allowed: {', '.join(_VERDICTS)}")
    return (kind, _whole(id), *rest)


def _in_words(error: Exception) -> str:
    return f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)


_READERS: dict[str, tuple[Callable[[Any], Any], ...]] = {
    "arrival": (_request,),
    "workers_free": (_whole,),
    "completion": (_whole, Outcome),
    "abandonment": (_whole,),
    "withdraw": (_whole,),
    "load_sample": (_sample,),
    "timer_due": (),
    "adopt": (_requests,),
}
"""For each event, the functions that read the arguments after its time."""

_VERDICTS = {"dispatch": 0, "drop": 1, "reject": 2, "cancel": 0}
"""For each kind of verdict, the number of fields after its id."""
