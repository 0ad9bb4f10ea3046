"""This module samples the gateway twice a second and sends each sample to all viewers. The list of
waiting requests is fetched only while a viewer has the watch page open."""

import asyncio
import contextlib
import json
import logging
import secrets
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

from lab.console.watch.frames import Frame, Mark, changes, frame_of, thinned
from lab.console.watch.live_shops import LiveShops, LiveShopsNow
from lab.console.watch.moment import OVER_S, sentence
from lab.console.watch.proxies import InPlace, ProxyNow
from lab.engines.live.appliance import Appliance
from lab.errors import ExperimentError
from runtime.settings import Settings


class Sold:
    """The purchases during the run in progress, and the confirms of the run before it. When a run
    ends, its purchases are kept with the time of the end. When an experiment prepares its first
    run, all earlier purchases are removed.
    """

    def __init__(self) -> None:
        self._last: dict[str, Any] | None = None
        self._before: Mapping[str, Any] | None = None

    def look(self, run: Mapping[str, Any] | None, now: float) -> dict[str, Any] | None:
        """Return the purchases at Unix time `now`. `run` comes from `live_run.UnderWay.told`.

        The purchases have `confirms` and `revenue_cents` since the run began, the `words` of the
        run, and `ended_at` (Unix time; None until the run ends). `before` has the confirms and the
        words of the experiment's previous run. `before` is None in the first run. The result is
        None if no purchases have been counted.
        """
        if run is None or run.get("between"):
            if self._last is not None and self._last["ended_at"] is None:
                self._last = {**self._last, "ended_at": now}
        elif "run" not in run or run.get("customers") is None:
            self._last = self._before = None
        else:
            if self._last is not None and self._last["words"] != run["words"]:
                self._before = {name: self._last[name] for name in ("confirms", "words")}
            customers = run["customers"]
            self._last = {
                "confirms": customers.get("confirms", 0),
                "revenue_cents": customers.get("revenue_cents", 0),
                "words": run["words"],
                "ended_at": None,
                "before": self._before,
            }
        return self._last


EVERY_S = 0.5
KEPT = 2400
"""The number of samples that the console keeps. The samples cover twenty real minutes."""
TOLD = 400
"""The number of samples that a new viewer receives, evenly spread over the last twenty real
minutes."""
MARKS_KEPT = 200
BEHIND = 20
"""The size of a viewer's queue. A slow viewer loses the oldest samples."""
STRIP = 300
"""The maximum number of waiting requests that the page shows in detail."""

RunNow = Callable[[], Mapping[str, Any] | None]
"""A function that returns the part of a frame that describes the live run, or None if no run is in
progress (`live_run.UnderWay.told`).
"""

logger = logging.getLogger("lab.console")


class Watch:
    """A sampler of one gateway. `frames` has the latest frames, the oldest first. `name` changes at
    every start of the server, so frame numbers from before a restart are not valid."""

    def __init__(
        self,
        lab: Settings,
        run_now: RunNow,
        live_shops_now: LiveShopsNow = lambda: (),
        proxy_now: ProxyNow = lambda: None,
    ) -> None:
        self._proxy_now = proxy_now
        self._in_place = InPlace()
        self._lab = lab
        self._run_now = run_now
        self._live_shops = LiveShops(lab, live_shops_now)
        self.name = secrets.token_hex(4)
        self.frames: deque[Frame] = deque(maxlen=KEPT)
        self.marks: deque[Mark] = deque(maxlen=MARKS_KEPT)
        self._viewers: dict[asyncio.Queue[bytes | None], bool] = {}
        self._seen: Frame | None = None
        self._run: Mapping[str, Any] | None = None
        self._sold = Sold()
        self._number = 0
        self._history: tuple[int, bytes] | None = None  # kept, because a class connects at once
        self._has_ended = False

    @property
    def viewers(self) -> int:
        return len(self._viewers)

    async def run(self) -> None:
        """Sample the gateway until this task is cancelled. Then end every stream."""
        appliance = Appliance(self._lab)
        due_s = time.monotonic()
        try:
            while True:
                try:
                    frame = await asyncio.to_thread(self._look, appliance)
                except ExperimentError as fault:
                    frame = {"away": str(fault)}
                except Exception:  # any fault; the next sample may succeed
                    logger.exception("the gateway could not be sampled")
                    frame = {
                        "away": "The console could not sample the gateway; see the console's log."
                    }
                self._tell(frame)
                due_s = max(due_s + EVERY_S, time.monotonic())
                await asyncio.sleep(due_s - time.monotonic())
        finally:
            self.end()

    def end(self) -> None:
        """End every stream, including streams that begin later."""
        self._has_ended = True
        for queue in self._viewers:
            _put(queue, None)

    async def follow(self, after: str = "", *, closely: bool = True) -> AsyncGenerator[bytes, None]:
        """Yield the events since `after` (`name-number`) that a viewer has missed, then all new
        events.

        If `after` is missing, invalid or too old, the stream begins with about 400 samples of the
        history. The gateway's waiting requests are fetched only for viewers who watch `closely`.
        """
        queue: asyncio.Queue[bytes | None] = asyncio.Queue(BEHIND)
        missed = self._missed(after)  # no await until the queue is registered, so no event is lost
        self._viewers[queue] = closely
        try:
            for one in missed:
                yield one
            while not self._has_ended and (told := await queue.get()) is not None:
                yield told
        finally:
            del self._viewers[queue]

    def _missed(self, after: str) -> list[bytes]:
        name, _, number = after.partition("-")
        if name == self.name and number.isdecimal():
            missed = [frame for frame in self.frames if frame["number"] > int(number)]
            if len(missed) == self._number - int(number) <= BEHIND:
                return [self._event("look", frame) for frame in missed]
        if self._history is None or self._history[0] != self._number:
            self._history = (self._number, self._whole_history())
        return [self._history[1]]

    def _whole_history(self) -> bytes:
        frames = thinned([frame for frame in self.frames if "away" not in frame], TOLD)
        if self.frames and "away" in self.frames[-1]:
            frames.append(self.frames[-1])
        history = {"frames": frames, "marks": list(self.marks)}
        return event("history", history, f"{self.name}-{self._number}")

    def _look(self, appliance: Appliance) -> Frame:
        proxy = self._proxy_now()
        snapshot = self._in_place.look(appliance.gateway.call("GET", "/snapshot"), proxy)
        queue = None
        if proxy is None and any(list(self._viewers.values())):  # a copy, for this thread
            queue = appliance.gateway.call("GET", f"/waiting?limit={STRIP}")
            if snapshot.get("shadows"):
                snapshot |= {"shadows": appliance.gateway.call("GET", "/shadows")["shadows"]}
        now = time.time()
        beside = self._live_shops.look(now)
        run = self._run_now()
        return frame_of(snapshot, queue, self._sold.look(run, now)) | {"run": run} | beside

    def _tell(self, frame: Frame) -> None:
        self._number += 1
        frame |= {"number": self._number, "at": time.time(), "marks": []}
        if "away" not in frame:
            if self._seen is not None and self._seen["gateway"] != frame["gateway"]:
                # The gateway's clock and counts begin again, so earlier numbers are not comparable.
                self.frames.clear()
                self.marks.clear()
                self._seen = None
            frame["moment"] = sentence(frame, self._earlier(frame))
            frame["is_idle"] = frame["run"] is None and not frame.get("live_shops")
            frame["marks"] = self._marks(frame)
            self.marks.extend(frame["marks"])
            self._seen = frame
        self.frames.append(frame)
        told = self._event("look", frame)
        for queue in self._viewers:
            _put(queue, told)

    def _earlier(self, frame: Frame) -> Frame | None:
        """Return the newest frame that is at least `OVER_S` older than `frame`; None if there is
        none."""
        for each in reversed(self.frames):
            if "away" not in each and frame["at"] - each["at"] >= OVER_S:
                return each
        return None

    def _marks(self, frame: Frame) -> list[Mark]:
        """Return the changes since the last sample that the gateway answered, and the runs that
        have begun or ended since then."""
        before, self._run = self._run, frame["run"]
        goes_on = _run_number(before) == _run_number(self._run)
        # Settings of a launch before and between its runs are not changes by users.
        prepares = self._run is not None and (_run_number(before) is None or not goes_on)
        found = [] if prepares else changes(self._seen, frame)
        if not goes_on:
            if _run_number(before):
                found.append({"kind": "end", "text": "run ended"})
            if self._run is not None and _run_number(self._run):
                base = {name: frame[name] for name in ("counts", "work")}
                found.append({"kind": "start", "text": self._run["words"], "base": base})
        elif (
            before is not None
            and self._run is not None
            and _run_number(before)
            and before["load_factor"] != self._run["load_factor"]
        ):
            found.append({"kind": "load", "text": self._run["load_words"]})
        return [{"at": frame["at"], "time_s": frame["time_s"], **mark} for mark in found]

    def _event(self, name: str, frame: Frame) -> bytes:
        return event(name, frame, f"{self.name}-{frame['number']}")


def event(name: str, told: Mapping[str, Any], id: str) -> bytes:
    """Return the text of a server-sent event (HTML Living Standard, 9.2)."""
    data = json.dumps(told, separators=(",", ":"))
    return f"event: {name}\nid: {id}\ndata: {data}\n\n".encode()


def _run_number(run: Mapping[str, Any] | None) -> tuple[str, int] | None:
    """Return the experiment and the number of a run; None if no run is in progress."""
    return (run["experiment"], run["run"]) if run is not None and "run" in run else None


def _put(queue: asyncio.Queue[bytes | None], told: bytes | None) -> None:
    if queue.full():
        with contextlib.suppress(asyncio.QueueEmpty):
            queue.get_nowait()
    queue.put_nowait(told)
