"""A stream of server-sent events as a browser reads it."""

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.request import Request, urlopen

from tests.lab.console.conftest import PATIENCE_S


@dataclass
class Event:
    """One event: what it is called, its id, its data."""

    name: str
    id: str
    data: dict[str, Any]


@contextmanager
def stream(url: str, last_seen: str = "") -> Iterator[Iterator[Event]]:
    """The events of `/watch/stream` as they come; ends when the server ends it."""
    headers = {"Last-Event-ID": last_seen} if last_seen else {}
    with urlopen(Request(url, headers=headers), timeout=PATIENCE_S) as answer:
        assert answer.headers["Content-Type"] == "text/event-stream"
        yield _events(answer)


def _events(lines: Iterable[bytes]) -> Iterator[Event]:
    fields: dict[str, str] = {}
    for line in lines:
        if text := line.decode().rstrip("\n"):
            name, _, value = text.partition(": ")
            fields[name] = value
        elif "data" in fields:
            yield Event(fields["event"], fields["id"], json.loads(fields["data"]))
            fields = {}


def looks(events: Iterator[Event]) -> Iterator[dict[str, Any]]:
    """Frames that say something: the newest of the history, and all after it."""
    for event in events:
        frames = event.data["frames"][-1:] if event.name == "history" else [event.data]
        yield from (frame for frame in frames if "away" not in frame)


def first(items: Iterator[Any], condition: Any, what: str) -> Any:
    """The first of them that fulfils the condition."""
    until_s = time.monotonic() + PATIENCE_S
    for item in items:
        if condition(item):
            return item
        assert time.monotonic() < until_s, f"{what} did not come"
    raise AssertionError(f"the stream ended before {what}")
