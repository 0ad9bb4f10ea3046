"""Watching the gateway: one look a second, told to however many watch.

Owns: the looks, what is worth telling of two of them, the last minutes for whoever comes late.
Must not know: pages, browsers, launches.

One look for all: sixty viewers cost the gateway no more than none.
"""

import asyncio
import contextlib
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import Any

from gateway.policies.interface import PAGES
from lab.experiments.appliance import Appliance
from lab.experiments.errors import ExperimentError
from runtime.settings import Settings

EVERY_S = 0.5
KEPT = 1200
"""Looks that are kept: ten minutes."""
BEHIND = 20
"""A viewer who takes so few of what it is sent loses the oldest."""

Frame = dict[str, Any]


class Watch:
    """Looks at one gateway while its loop runs; `frames` has the last ones, oldest first."""

    def __init__(self, lab: Settings) -> None:
        self._lab = lab
        self.frames: deque[Frame] = deque(maxlen=KEPT)
        self._viewers: set[asyncio.Queue[Frame]] = set()
        self._before: tuple[float, Mapping[str, Any]] | None = None
        self._number = 0

    @property
    def viewers(self) -> int:
        """How many watch."""
        return len(self._viewers)

    async def run(self) -> None:
        """Look for ever; cancel it to end."""
        appliance = Appliance(self._lab)
        due_s = time.monotonic()
        while True:
            try:
                snapshot = await asyncio.to_thread(appliance.gateway.call, "GET", "/snapshot")
                self._tell(self._frame(time.time(), snapshot))
            except ExperimentError as fault:
                self._before = None
                self._tell({"at": time.time(), "away": str(fault)})
            due_s = max(due_s + EVERY_S, time.monotonic())
            await asyncio.sleep(due_s - time.monotonic())

    async def follow(self) -> AsyncIterator[Frame]:
        """Every look from now on."""
        queue: asyncio.Queue[Frame] = asyncio.Queue(BEHIND)
        self._viewers.add(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            self._viewers.discard(queue)

    def _tell(self, frame: Frame) -> None:
        self._number += 1
        frame["number"] = self._number
        self.frames.append(frame)
        for queue in self._viewers:
            if queue.full():
                with contextlib.suppress(asyncio.QueueEmpty):
                    queue.get_nowait()
            queue.put_nowait(frame)

    def _frame(self, at: float, snapshot: Mapping[str, Any]) -> Frame:
        """What is told of a look; rates are per paper second since the look before."""
        before, self._before = self._before, (at, snapshot)
        policy = snapshot["policy"]
        inner = policy["snapshot"]
        load = snapshot.get("load") or {}
        status = load.get("status") or {}
        frame: Frame = {
            "at": at,
            "time_s": snapshot["time_s"],
            "time_scale": snapshot["time_scale"],
            "policy": policy["name"],
            "admission": policy["admission"]["name"],
            "discipline": inner.get("discipline", ""),
            "parameters": policy["parameters"],
            "waiting": snapshot["waiting"],
            "waiting_by_page": [snapshot["waiting_by_page"][page] for page in PAGES],
            "in_service": snapshot["in_service"],
            "workers": snapshot["workers"],
            "cpu_utilisation_ratio": load.get("cpu_utilisation_ratio"),
            "busy_workers": load.get("busy_workers"),
            "abandonment": snapshot["abandonment"]["mode"],
            "confirms": snapshot["counts"]["Tr-4"]["answered"],
            "sessions": inner.get("admission"),
            "strip": snapshot.get("strip", []),
            "wasted_s": (status.get("sentry") or {}).get("wasted_cpu_s"),
        }
        if before is not None:
            frame["rates"] = _rates(before[1], snapshot)
        return frame


def _rates(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, float]:
    passed_s = now["time_s"] - before["time_s"]
    if passed_s <= 0:
        return {}
    fates = ("arrived", "answered", "abandoned_waiting", "dropped", "rejected", "withdrawn",
             "cancelled", "orphaned", "failed")  # fmt: skip
    return {
        fate: max(
            0.0,
            sum(now["counts"][page][fate] - before["counts"][page][fate] for page in PAGES)
            / passed_s,
        )
        for fate in fates
    }


def event(name: str, frame: Mapping[str, Any]) -> bytes:
    """A frame as a server-sent event (HTML Living Standard, 9.2)."""
    return f"event: {name}\ndata: {json.dumps(frame, separators=(',', ':'))}\n\n".encode()
