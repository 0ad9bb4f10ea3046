"""The customers of `bench.flood`: Poisson arrivals of sessions with eight pages.

A customer keeps one connection and its cookies, and pauses between pages. The customer leaves when
a request is turned away, or when a page takes longer than `PATIENCE_S` paper seconds.
"""

import http.client
import os
import random
import threading
import time
from dataclasses import dataclass, field

PATHS = (
    "/",
    "/browse/crime/",
    "/search/?q=winter",
    "/books/1/",
    "/checkout/login/",
    "/checkout/shipping/",
    "/checkout/payment/",
    "/checkout/confirm/",
)
"""The addresses of Br-1 to Br-4 and Tr-1 to Tr-4 (gateway/http/pages.toml)."""
PATIENCE_S = 10.0
PAUSE_S = (3.5, 10.5)
"""The shortest and the longest pause between two pages, in paper seconds."""


@dataclass
class Session:
    """A customer's session; its times are values of `time.monotonic`."""

    began_s: float
    ended_s: float = 0.0
    served: list[tuple[float, float]] = field(default_factory=list)
    """The request time and the duration of each served page, in seconds."""

    @property
    def is_complete(self) -> bool:
        return len(self.served) == len(PATHS)

    def is_under_way(self, time_s: float) -> bool:
        """Whether the customer had received a page by this time, and had not left."""
        if not self.served or self.ended_s <= time_s:
            return False
        requested_s, took_s = self.served[0]
        return requested_s + took_s <= time_s


class Customers:
    """Customers who arrive at `rate_per_s` on CPUs `cpus` until `stop` is called.

    `time_scale` is the number of paper seconds per real second.
    """

    def __init__(
        self, port: int, rate_per_s: float, seed: int, cpus: set[int], time_scale: float
    ) -> None:
        self.sessions: list[Session] = []
        self._port = port
        self._rate_per_s = rate_per_s
        self._rng = random.Random(seed)
        self._cpus = cpus
        self._patience_s = PATIENCE_S / time_scale
        self._pause_s = (PAUSE_S[0] / time_scale, PAUSE_S[1] / time_scale)
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []
        self._source = threading.Thread(target=self._arrive, daemon=True)
        self._source.start()

    def stop(self) -> None:
        """Let no more customers arrive, and wait until all have left."""
        self._over.set()
        self._source.join()
        for thread in self._threads:
            thread.join()

    def _arrive(self) -> None:
        os.sched_setaffinity(0, self._cpus)  # of this thread, and of the threads that it starts
        next_s = time.monotonic()
        while True:
            next_s += self._rng.expovariate(self._rate_per_s)
            pauses_s = [self._rng.uniform(*self._pause_s) for _ in PATHS[1:]]
            if self._over.wait(max(0.0, next_s - time.monotonic())):
                return
            session = Session(time.monotonic())
            self.sessions.append(session)
            thread = threading.Thread(target=self._walk, args=(session, pauses_s), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _walk(self, session: Session, pauses_s: list[float]) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=self._patience_s)
        cookies: dict[str, str] = {}
        try:
            for path, pause_s in zip(PATHS, [0.0, *pauses_s], strict=True):
                time.sleep(pause_s)
                requested_s = time.monotonic()
                head = {"User-Agent": "session"}
                if cookies:
                    head["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies.items())
                connection.request("GET", path, headers=head)
                answer = connection.getresponse()
                answer.read()
                took_s = time.monotonic() - requested_s
                if answer.status != http.client.OK or took_s > self._patience_s:
                    break
                for line in answer.headers.get_all("Set-Cookie", []):
                    name, _, value = line.partition(";")[0].partition("=")
                    cookies[name.strip()] = value.strip()
                session.served.append((requested_s, took_s))
        except (OSError, http.client.HTTPException):
            pass  # the session is lost: the patience has ended, or the connection was cut off
        finally:
            session.ended_s = time.monotonic()
            connection.close()
