"""The load probe, which polls the shop's controller once per utilisation interval, and calculates
the CPU utilisation. While the shop does not answer, the probe keeps the latest sample.
"""

import asyncio
import logging
import reprlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from common import hosts
from gateway import plain_json
from gateway.clock import PaperClock
from gateway.http.framing import END
from gateway.http.limits import BodyLimits, HeadLimits
from gateway.http.response_reader import BadResponseError, ResponseHead, ResponseReader
from gateway.plain_json import PlainJsonError
from gateway.policies.interface import LoadSample

log = logging.getLogger("gateway.load")

# The probe waits for a saturated shop, because a new connection would be more work for the shop. A
# late answer is still exact: it covers the whole time since the previous answer.
LEAST_PATIENCE_S = 10.0
_LEAST_PAUSE_S: Final = 0.02
_ANSWER_BYTES: Final = 1 << 20
_MOST_VALUES: Final = 10_000
_NUMBERS: Final = ("time_s", "cpu_s", "cpus", "busy_workers")
# With values beyond these, the utilisation could overflow.
_MOST: Final = 1e12
_LEAST_CPUS: Final = 1e-3


class ProbeError(Exception):
    """The error for a controller without a usable status; the message is one line."""


@dataclass(frozen=True, slots=True)
class Status:
    """One answer from the controller: `time_s` is the time on the controller's monotonic clock, and
    `cpu_s` is the CPU time that the shop has used since its start.
    """

    time_s: float
    cpu_s: float
    cpus: float
    busy_workers: int
    whole: Mapping[str, Any]


def read_status(body: bytes) -> Status:
    """Return the status in a controller's answer. Raises ProbeError if the answer is not a JSON
    object, or if a value is invalid; the message then names the field.
    """
    try:
        whole = plain_json.decoded(body, _MOST_VALUES)
    except PlainJsonError as fault:
        raise ProbeError(f"the answer {fault}") from None
    if not isinstance(whole, dict):
        raise ProbeError("the answer is not a JSON object")
    for name in _NUMBERS:
        value = whole.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST:
            raise ProbeError(
                f"{name}: is {reprlib.repr(value)}; must be a number from 0 to {_MOST:g}"
            )
    if whole["cpus"] < _LEAST_CPUS:
        raise ProbeError(f"cpus: is {whole['cpus']}; must be at least {_LEAST_CPUS:g}")
    return Status(whole["time_s"], whole["cpu_s"], whole["cpus"], int(whole["busy_workers"]), whole)


def sample(before: Status, now: Status, interval_s: float) -> LoadSample | None:
    """Return the load between two answers, or None if the shop was restarted between them.
    The utilisation is Δcpu_s / (Δtime_s × cpus), with both times in real seconds. `interval_s` is
    the time between the answers in paper seconds.
    """
    elapsed_s = now.time_s - before.time_s
    burnt_s = now.cpu_s - before.cpu_s
    if elapsed_s <= 0 or burnt_s < 0:
        return None
    return LoadSample(burnt_s / (elapsed_s * now.cpus), now.busy_workers, interval_s)


class LoadProbe:
    """A poller that uses one persistent connection, and passes each sample to `hand_over`.

    If the shop is slow, samples are missing. If the shop does not answer, `snapshot` shows the
    error.
    """

    def __init__(
        self,
        clock: PaperClock,
        *,
        host: str,
        port: int,
        interval_s: float,
        hand_over: Callable[[LoadSample], None],
        token: bytes | None = None,
    ) -> None:
        self._clock = clock
        self._host = host
        self._port = port
        self._authority = hosts.authority(host, port)
        self._authorization = b"" if token is None else b"Authorization: Bearer %b\r\n" % token
        self.interval_s = interval_s
        """The utilisation interval in paper seconds; after a change, call `restart_interval`."""
        self._hand_over = hand_over
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._before: Status | None = None
        self._before_at_s = 0.0
        self.newest: LoadSample | None = None
        self._newest_at_s = 0.0
        self._error: str | None = "the shop's load has not been sampled yet"
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.samples = 0
        self.failures = 0

    def restart_interval(self) -> None:
        """Begin a new interval now, after a change of its length or of the time scale."""
        self._changed.set()

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._poll())

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._hang_up()

    def snapshot(self) -> dict[str, object]:
        """Return the latest sample, its age in paper seconds, the controller's complete status, and
        the present error, if any.
        """
        known = self.newest
        return {
            "cpu_utilisation_ratio": known.cpu_utilisation_ratio if known else None,
            "busy_workers": known.busy_workers if known else None,
            "interval_s": known.interval_s if known else None,
            "age_s": self._clock() - self._newest_at_s if known else None,
            "utilisation_interval_s": self.interval_s,
            "samples": self.samples,
            "failures": self.failures,
            "error": self._error,
            "status": self._before.whole if self._before else None,
        }

    async def _poll(self) -> None:
        due_s = time.monotonic()
        while True:
            await self._ask()
            pause_s = self._clock.real_s(self.interval_s)
            # Samples are taken at fixed times; if the shop is slow, some are missing.
            due_s = max(due_s + pause_s, time.monotonic() + min(_LEAST_PAUSE_S, pause_s))
            try:
                async with asyncio.timeout(due_s - time.monotonic()):
                    await self._changed.wait()
            except TimeoutError:
                pass
            else:
                self._changed.clear()
                due_s = time.monotonic()

    async def _ask(self) -> None:
        patience_s = max(LEAST_PATIENCE_S, self._clock.real_s(self.interval_s))
        try:
            async with asyncio.timeout(patience_s):
                status = read_status(await self._get())
        except TimeoutError:
            self._fail(f"no answer within {patience_s:g} s")
        except OSError as error:
            self._fail(f"not reachable: {error.strerror or error}")
        except (ProbeError, BadResponseError) as error:
            self._fail(str(error))
        else:
            now_s = self._clock()
            before, before_s = self._before, self._before_at_s
            self._before, self._before_at_s = status, now_s
            measured = sample(before, status, now_s - before_s) if before else None
            fault = self._handed_over(measured) if measured is not None else None
            if fault is None and self._error is not None:
                log.info("the shop's controller has answered")
            self._error = fault

    def _handed_over(self, measured: LoadSample) -> str | None:
        """Pass the sample to `hand_over`, and return the message of its error, or None."""
        self.samples += 1
        self.newest = measured
        self._newest_at_s = self._clock()
        try:
            self._hand_over(measured)
        except Exception as fault:
            words = " ".join(f"{type(fault).__name__}: {fault}".split())
            message = f"the policy could not handle a load sample: {words:.300}"
            if message != self._error:
                log.exception("the policy could not handle a load sample")
            return message
        return None

    def _fail(self, reason: str) -> None:
        self._hang_up()
        self.failures += 1
        message = f"the shop's controller on {self._authority}: {reason}"
        if message != self._error:
            log.warning("%s", message)
        self._error = message

    def _hang_up(self) -> None:
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None

    async def _get(self) -> bytes:
        if self._streams is not None:
            stream, writer = self._streams
            if writer.is_closing() or stream.at_eof():  # closed by the shop between two polls
                self._hang_up()
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        stream, writer = self._streams
        host = self._authority.encode()
        writer.write(b"GET /status HTTP/1.1\r\nHost: %b\r\n%b\r\n" % (host, self._authorization))
        reader = ResponseReader(HeadLimits(), BodyLimits())
        reader.expect(b"GET")
        body = b""
        while True:
            event = reader.pull()
            if event is None:
                data = await stream.read(65536)
                if data:
                    reader.receive(data)
                else:
                    reader.receive_eof()
            elif type(event) is bytes:
                body += event
                if len(body) > _ANSWER_BYTES:
                    raise ProbeError(f"the answer exceeds {_ANSWER_BYTES} bytes")
            elif type(event) is ResponseHead:
                if event.status != 200:
                    raise ProbeError(f"the answer has status {event.status}")
            elif event is END:
                if not reader.keeps_alive:
                    self._hang_up()
                return body
