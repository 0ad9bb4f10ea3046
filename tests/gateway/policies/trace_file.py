"""A policy's decision trace as JSON lines, with all digits of times and ratios."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from gateway.policies.interface import LoadSample, Outcome, Page, Request
from gateway.policies.trace import Event


def write(path: Path, events: Iterable[Event]) -> None:
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
    return [_event(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def _plain(value: Any) -> Any:
    if isinstance(value, LoadSample):
        return [value.cpu_utilisation_ratio, value.busy_workers, value.interval_s]
    return [_plain(inner) for inner in value] if isinstance(value, tuple) else value


def _event(row: dict[str, Any]) -> Event:
    readers = _READERS[row["event"]]
    told = tuple(reader(value) for reader, value in zip(readers, row["told"], strict=True))
    return Event(row["event"], row["time_s"], told, tuple(map(tuple, row["verdicts"])))


def _request(value: list[Any]) -> Request:
    id, page, *more = value
    return Request(id, Page(page), *more)


_READERS: dict[str, tuple[Callable[[Any], Any], ...]] = {
    "arrival": (_request,),
    "workers_free": (int,),
    "completion": (int, Outcome),
    "abandonment": (int,),
    "withdraw": (int,),
    "load_sample": (lambda value: LoadSample(*value),),
    "timer_due": (),
    "adopt": (lambda value: tuple(map(_request, value)),),
}
"""For each event, the functions that read the arguments after its time."""
