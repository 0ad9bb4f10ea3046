"""The clients of the ad server, in a process of their own: `python -m loadgen.ad_clients URL`.

It takes an order (`AdOrder`) per line of standard input, as JSON, plays it, writes its attempts and
answers with a line of JSON: how it went. At the end of its input it ends.

Owns: what a client asks for, the closed loop, the orders. Must not know: the ad server's threads,
experiments, results.
Source: Diniz, Pereira, Meira, Almeida, *QoS in Parallelized E-Commerce Systems*, section V.B: N
clients, each of them asks again as soon as it has its answer; half of the requests are of high
priority. The paper's clients read their requests from a file, these draw theirs.
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

from loadgen.attempt_log import AttemptLog
from loadgen.attempts import Attempt, AttemptOutcome
from loadgen.browser import Fetched, HostError, ShopAddress
from loadgen.schedule import RunClock
from loadgen.shop_pages import PageRequest, WrongPageError
from loadgen.visitor import Errand, Visitor

PRIORITIES = ("low", "high")
"""What a row's `page` says."""

SLOTS = 3
SIZE = "468x60"
PATIENCE_S = 300.0
"""Nobody leaves; an answer that takes longer never comes."""


@dataclass(frozen=True, slots=True)
class AdOrder:
    """One run: `clients` × `requests`, each with `concepts` of `words`.

    Requests of high priority ask for level `high`, the others for level 0. `facts` are kept with
    the attempts in `attempts_file`. The same seed gives the same requests in the same order.
    """

    clients: int
    requests: int
    """Of each client at least: who has made them goes on until all have, so that those who come
    last meet as many others as those who came first."""
    concepts: int
    high: int
    words: tuple[str, ...]
    seed: int
    attempts_file: str
    facts: Mapping[str, Any]

    @classmethod
    def from_json(cls, line: str) -> "AdOrder":
        """Reads what `json.dumps(asdict(order))` wrote."""
        plain = json.loads(line)
        return cls(**{**plain, "words": tuple(plain["words"])})


class AdRequest(NamedTuple):
    """What a client asks for next."""

    priority: str
    path: str


def requests_of(order: AdOrder, client: int) -> Iterator[AdRequest]:
    """What a client asks for, without end: of each `requests` half is high, in random order;
    concepts are drawn each time.

    Of an odd number, clients of odd number have the odd one high.
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
    """Carry out an order and write its attempts; how it went.

    `answered`, `failed` and the first `reason`; `took_s`; `cpu_s` of this process meanwhile.
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
    """One request after the other, without a pause, while anybody in `asking` has not made all."""
    try:
        for step, wanted in enumerate(requests_of(order, client)):
            visitor.ask(
                Errand(step, wanted.priority, 1, clock.now_s(), PATIENCE_S),
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
    """An answer has banners: an ad server that has run out of them searches for nothing."""
    try:
        banners = json.loads(body)["banners"]
    except (ValueError, KeyError, TypeError):
        raise WrongPageError("no list of banners") from None
    if not banners:
        raise WrongPageError("no banners left")


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Play orders until there are no more."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m loadgen.ad_clients http://127.0.0.1:PORT < orders")
    try:
        address = ShopAddress.from_url(sys.argv[1])
    except HostError as error:
        sys.exit(f"Error: {error}")
    for line in sys.stdin:
        print(json.dumps(play(AdOrder.from_json(line), address)), flush=True)


if __name__ == "__main__":
    main()
