"""The process that plays the clients of the ad server: `python -m loadgen.customers.ad_clients
URL`.

The process reads one order (`AdOrder`) per line of standard input, as JSON. It carries out the
order, writes the attempts to a file, and prints a line of JSON with the counts and times. It ends
when its input ends.

Source: Diniz, Pereira, Meira, Almeida, *QoS in Parallelized E-Commerce Systems*, section V.B. N
clients each send the next request as soon as the previous one is answered; half of the requests
have high priority. The paper's clients read their requests from a file; these clients choose them
at random.
"""

import json
import resource
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import gevent

from loadgen.customers.browser import Fetched, HostError, ShopAddress
from loadgen.customers.shop_pages import PageRequest, WrongPageError
from loadgen.customers.visitor import PlannedAttempt, Visitor
from loadgen.records.attempt_log import AttemptLog
from loadgen.records.attempts import Attempt, AttemptOutcome
from loadgen.schedule import RunClock

PRIORITIES = ("low", "high")
"""The values of the attempts' column `page`."""

SLOTS = 3
SIZE = "468x60"
PATIENCE_S = 300.0
"""A client's longest wait for an answer, in real seconds."""


@dataclass(frozen=True, slots=True)
class AdOrder:
    """The order for one run. Each request contains `concepts` words, chosen at random from `words`.

    Requests of high priority have level `high`, and all others level 0. The file `attempts_file`
    also contains `facts`. The same seed gives the same requests in the same order.
    """

    clients: int
    requests: int
    """The minimum number of requests of each client.

    A client continues until all clients have sent this number, so that the last requests meet as
    much competition as the first.
    """
    concepts: int
    high: int
    words: tuple[str, ...]
    seed: int
    attempts_file: str
    facts: Mapping[str, Any]

    @classmethod
    def from_json(cls, line: str) -> "AdOrder":
        """Return the order in a JSON text that `json.dumps(asdict(order))` wrote."""
        plain = json.loads(line)
        return cls(**{**plain, "words": tuple(plain["words"])})


class AdRequest(NamedTuple):
    priority: str
    path: str


def requests_of(order: AdOrder, client: int) -> Iterator[AdRequest]:
    """Yield the client's requests without end.

    In each group of `requests` requests, half have high priority, in random order. If `requests` is
    odd, the extra request has high priority for odd-numbered clients, and low priority for the
    others.
    """
    rng = Random(f"{order.seed}/ads/{client}")
    half = order.requests // 2
    priorities = [*PRIORITIES * half, *([PRIORITIES[client % 2]] if order.requests % 2 else [])]
    while True:
        rng.shuffle(priorities)
        for priority in priorities:
            concepts = ",".join(rng.sample(order.words, order.concepts))
            level = order.high if priority == "high" else 0
            yield AdRequest(
                priority,
                f"/ads/select?slots={SLOTS}&size={SIZE}&concepts={concepts}&priority={level}",
            )


def play(order: AdOrder, address: ShopAddress) -> dict[str, Any]:
    """Carry out an order, write its attempts and return its summary.

    The summary has `answered`, `failed`, `took_s`, the first `reason`, and `cpu_s` (the CPU time of
    this process).
    """
    log = AttemptLog()
    reasons: list[str] = []

    def saw(attempt: Attempt, request: PageRequest | None, fetched: Fetched | None) -> None:
        log.append(attempt)
        if fetched is not None and fetched.outcome is not AttemptOutcome.COMPLETED:
            reasons.append(fetched.reason or fetched.outcome.value)

    began_s, cpu_s = time.monotonic(), _cpu_s()
    clock, asking = RunClock(1.0), set(range(order.clients))
    gevent.joinall(
        [
            gevent.spawn(
                _client, order, client, asking, Visitor(client, address, clock, saw), clock
            )
            for client in range(order.clients)
        ],
        raise_error=True,
    )
    went = {
        "answered": len(log) - len(reasons),
        "failed": len(reasons),
        "reason": reasons[0] if reasons else "",
        "took_s": time.monotonic() - began_s,
        "cpu_s": _cpu_s() - cpu_s,
    }
    log.write(Path(order.attempts_file), {**order.facts, "requests": order.requests, **went})
    return went


def _client(
    order: AdOrder, client: int, asking: set[int], visitor: Visitor, clock: RunClock
) -> None:
    try:
        for step, wanted in enumerate(requests_of(order, client)):
            visitor.ask(
                PlannedAttempt(step, wanted.priority, 1, clock.now_s(), PATIENCE_S),
                PageRequest("GET", wanted.path, None),
                _judge,
            )
            if step + 1 == order.requests:
                asking.discard(client)
            if not asking:
                return
    finally:
        visitor.leave()


def _judge(body: bytes) -> None:
    try:
        banners = json.loads(body)["banners"]
    except (ValueError, KeyError, TypeError):
        raise WrongPageError("the answer has no list of banners") from None
    if not banners:
        raise WrongPageError("no banners left")


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python -m loadgen.customers.ad_clients http://127.0.0.1:PORT < orders")
    try:
        address = ShopAddress.from_url(sys.argv[1])
    except HostError as error:
        sys.exit(f"Error: {error}")
    for line in sys.stdin:
        print(json.dumps(play(AdOrder.from_json(line), address)), flush=True)


if __name__ == "__main__":
    main()
