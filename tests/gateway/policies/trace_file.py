"""A policy's decision trace as JSON lines, with all digits of times and ratios."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gateway.policies.trace import Event
from gateway.students import wire


def write(path: Path, events: Iterable[Event]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for event in events:
            row = {
                "event": event.name,
                "time_s": event.time_s,
                "told": list(map(wire.plain, event.told)),
                "verdicts": event.verdicts,
            }
            file.write(json.dumps(row) + "\n")


def read(path: Path) -> list[Event]:
    return [_event(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def _event(row: dict[str, Any]) -> Event:
    told = wire.told(row["event"], row["told"])
    if row["event"] == "adopt":
        told = (tuple(told[0]),)
    return Event(row["event"], row["time_s"], told, tuple(map(tuple, row["verdicts"])))
