"""The gain in the ad server's speed from searching with several threads, in memory and in
PostgreSQL.

In each round of `make bench-ads`, all numbers of threads are measured in random order. Gains
compare medians. The ideal gain assumes that a request consists only of searches, and that each
thread searches one whole concept at a time.
"""

import http.client
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from statistics import fmean, quantiles
from typing import Any, NamedTuple

import click
import numpy as np
import psycopg
from rich.console import Console
from rich.table import Table

from bench import harness
from common.one_line import OneLineCommand
from lab.analysis.ideal_gain import ideal_gain
from lab.intervals import Estimate, estimate
from lab.machine.other_load import OtherLoad
from runtime.native import own_ad_server
from shop.ads import inventory
from shop.ads.delivery.ledger import Ledger
from shop.ads.selection import candidates, selector
from shop.ads.selection.fan_out import FanOut

PATIENCE_S = 300.0
SIZE = "468x60"
CPUS = len(os.sched_getaffinity(0))
SWITCH_INTERVAL_S = 0.0005  # as in the server (shop/ads/gunicorn_config.py)

# The bench makes a table for QUERY, whose index contains all columns that the query reads.
TABLE = """
    CREATE UNLOGGED TABLE bench_candidate AS
    SELECT concept_id, size, ads_banner.id AS banner_id, impressions, delivered,
           extract(epoch FROM starts)::float8 AS starts_s,
           extract(epoch FROM ends)::float8 AS ends_s,
           impressions / extract(epoch FROM ends - starts)::float8 AS rate_per_s
    FROM ads_banner_concepts
    JOIN ads_banner ON ads_banner.id = ads_banner_concepts.banner_id
    JOIN ads_contract ON ads_contract.banner_id = ads_banner.id
    JOIN ads_delivery ON ads_delivery.banner_id = ads_banner.id;
    CREATE INDEX ON bench_candidate (concept_id, size)
        INCLUDE (banner_id, impressions, delivered, starts_s, ends_s, rate_per_s);
    VACUUM ANALYZE bench_candidate
"""
QUERY = """
    SELECT banner_id, impressions - delivered FROM bench_candidate
    WHERE concept_id = %s AND size = %s AND ends_s > %s AND delivered < (%s - starts_s) * rate_per_s
"""
BUDGET_S = 20.0  # for all rounds of one way to search


class Times(NamedTuple):
    quarter: float
    middle: float
    three_quarters: float
    each: tuple[float, ...] = ()
    """All times, in the order in which they were measured."""

    @classmethod
    def of(cls, measured: Sequence[float]) -> "Times":
        low, middle, high = quantiles(measured, n=4)
        return cls(low, middle, high, tuple(measured))

    def gain_over(self, alone: "Times") -> Estimate:
        """Return the mean gain over `alone` in percent, with its interval over the rounds.

        Both measurements must have the same number of rounds.
        """
        pairs = [one - other for one, other in zip(alone.each, self.each, strict=True)]
        found, mean = estimate(pairs), fmean(alone.each)
        half = None if found.half_width is None else 100 * found.half_width / mean
        return Estimate(100 * found.mean / mean, half)

    def __str__(self) -> str:
        low, middle, high = (1000 * seconds for seconds in self[:3])
        return f"{middle:.2f} ({low:.2f}–{high:.2f})"


def in_turns(kinds: Mapping[Any, Callable[[], object]], rounds: int) -> dict[Any, Times]:
    """Measure each kind `rounds` times, after one warm-up round.

    The order within a round is random. After BUDGET_S, the measurement ends early, but not before
    five rounds are complete.
    """
    measured: dict[Any, list[float]] = {kind: [] for kind in kinds}
    rng = random.Random(1)
    began = time.perf_counter()
    for number in range(rounds + 1):
        if number > 5 and time.perf_counter() - began > BUDGET_S:
            break
        for kind in rng.sample(list(kinds), len(kinds)):
            start = time.perf_counter()
            kinds[kind]()
            if number:
                measured[kind].append(time.perf_counter() - start)
    return {kind: Times.of(times) for kind, times in measured.items()}


# Which operations release the GIL


def lets_others_run(operation: Callable[[], object], times: int = 20) -> float:
    """Return the share of calls (0 to 1) during which another thread ran.

    During the measurement, the interpreter does not take the GIL away from a thread after a time
    slice. The other thread therefore runs only if the operation releases the GIL.
    """
    go, gone = threading.Lock(), threading.Lock()
    go.acquire()
    gone.acquire()
    ran = [0]

    def other() -> None:
        for _ in range(times):
            go.acquire()
            ran[0] += 1
            gone.release()

    operation()
    before_s = sys.getswitchinterval()
    thread = threading.Thread(target=other)
    thread.start()
    meanwhile = 0
    try:
        for number in range(times):
            time.sleep(0.001)  # the other thread is waiting again
            sys.setswitchinterval(100.0)
            go.release()
            operation()
            meanwhile += ran[0] > number
            sys.setswitchinterval(before_s)
            gone.acquire()
    finally:
        sys.setswitchinterval(before_s)
    thread.join()
    return meanwhile / times


def operations(rows: int) -> dict[str, Callable[[], object]]:
    """Return operations that a search uses or could use. They work on `rows` rows, except the
    operations on Python objects, which work on a fiftieth of these rows.
    """
    rng = np.random.default_rng(1)
    number, other = rng.integers(0, 400, rows, np.int32), np.empty(rows, np.bool_)
    real, out = rng.random(rows), np.empty(rows)
    mask = rng.random(rows) < 0.01
    index = np.flatnonzero(mask)
    objects = number[: rows // 50].astype(object)
    listed = number[: rows // 50].tolist()
    return {
        "equal, int32": lambda: np.equal(number, 7, out=other),
        "greater, float64": lambda: np.greater(real, 0.5, out=other),
        "multiply, float64": lambda: np.multiply(real, 3.0, out=out),
        "logical_and, bool": lambda: np.logical_and(mask, other, out=other),
        "flatnonzero, bool": lambda: np.flatnonzero(mask),
        "boolean index": lambda: real[mask],
        "index by integers": lambda: np.tile(real[index], 50),
        "cumsum": lambda: np.cumsum(real),
        "unique": lambda: np.unique(number),
        "isin": lambda: np.isin(number, (3, 4, 5)),
        "equal, objects": lambda: objects == 7,
        "a list comprehension": lambda: [one == 7 for one in listed],
    }


# The search, in memory and in the database


class World:
    """The inventory in memory and in the database."""

    def __init__(self, environment: dict[str, str], concepts: int) -> None:
        self.environment = environment
        with self.session() as session:
            for statement in TABLE.split(";"):
                session.execute(statement)
            words = session.execute(
                "SELECT ads_concept.id, word FROM ads_concept "
                "JOIN ads_banner_concepts ON concept_id = ads_concept.id "
                "GROUP BY 1, 2 ORDER BY count(*) DESC, word LIMIT %s",
                (concepts,),
            ).fetchall()
            rows = session.execute(
                """
                SELECT ads_banner.id, advertiser_id, size, impressions, delivered,
                       extract(epoch FROM starts)::float8, extract(epoch FROM ends)::float8,
                       array_agg(concept_id)
                FROM ads_banner JOIN ads_contract ON ads_contract.banner_id = ads_banner.id
                JOIN ads_delivery ON ads_delivery.banner_id = ads_banner.id
                JOIN ads_banner_concepts ON ads_banner_concepts.banner_id = ads_banner.id
                GROUP BY 1, 2, 3, 4, 5, 6, 7
                """
            ).fetchall()
        self.words = [word for _, word in words]
        self.concepts = [id for id, _ in words]
        sizes = sorted({row[2] for row in rows})
        self.size = sizes.index(SIZE)
        columns = np.full((inventory.MOST_CONCEPTS, len(rows)), inventory.NO_CONCEPT)
        for row, values in enumerate(rows):
            columns[: len(values[7]), row] = values[7]
        self.inventory = inventory.of_columns(
            id=np.array([row[0] for row in rows]),
            advertiser=np.array([row[1] for row in rows]),
            size=np.array([sizes.index(row[2]) for row in rows]),
            concepts=columns,
            contracted=np.array([row[3] for row in rows]),
            starts_s=np.array([row[5] for row in rows]),
            ends_s=np.array([row[6] for row in rows]),
            not_beside_banners={},
            not_beside_advertisers={},
        )
        self.delivered = np.array([row[4] for row in rows], np.float64)
        self._threads_session = threading.local()

    def session(self) -> "psycopg.Connection[tuple[Any, ...]]":
        return psycopg.connect(
            host="127.0.0.1", port=self.environment["DOORBUSTER_POSTGRES_PORT"],
            user=self.environment["DOORBUSTER_POSTGRES_USER"],
            password=self.environment["DOORBUSTER_POSTGRES_PASSWORD"],
            dbname=self.environment["DOORBUSTER_POSTGRES_DB"],
            options="-c search_path=ads", autocommit=True,
        )  # fmt: skip

    def in_memory(self, concept: int) -> Any:
        """Return the candidates that the ad server's search finds."""
        wanted = candidates.Wanted(self.size, time.time())
        return candidates.find(self.inventory, self.delivered, wanted, concept)

    def in_database(self, concept: int) -> Any:
        """Return the candidates that the database finds. Each thread uses a separate session."""
        session = getattr(self._threads_session, "session", None)
        if session is None:
            session = self._threads_session.session = self.session()
        now_s = time.time()
        parameters = (concept, SIZE, now_s, now_s)
        return session.execute(QUERY, parameters, prepare=True, binary=True).fetchall()

    def posting_lists(self) -> Callable[[int], Any]:
        """Return a search that uses an index by concept and checks the other conditions only on the
        concept's rows.
        """
        held = self.inventory
        lists = {
            concept: np.flatnonzero((held.concepts == concept).any(axis=0))
            for concept in self.concepts
        }

        def find(concept: int) -> Any:
            rows, now = lists[concept], time.time()
            due = (now - held.starts_s[rows]) * held.rate_per_s[rows]
            ok = (held.size[rows] == self.size) & (held.ends_s[rows] > now)
            return rows[ok & (due > self.delivered[rows])]

        return find


def searches(world: World, threads: Sequence[int], rounds: int) -> dict[str, dict[int, Times]]:
    """Return the times of a whole request's search, by kind of search and number of threads."""
    kinds: dict[str, Callable[[int], Any]] = {
        "memory": world.in_memory,
        "PostgreSQL": world.in_database,
        "posting lists": world.posting_lists(),
    }
    found = {
        name: sum(len(find(concept)) for concept in world.concepts) for name, find in kinds.items()
    }
    if max(found.values()) > 1.01 * min(found.values()):  # the searches run at different times
        raise click.ClickException(f"the searches find different candidates: {found}")
    fans = {count: FanOut({0: count}, 1) for count in threads}
    try:
        return {
            name: in_turns(
                {
                    count: partial(fan.search, 0, world.concepts, find)
                    for count, fan in fans.items()
                },
                rounds,
            )
            for name, find in kinds.items()
        }
    finally:
        for fan in fans.values():
            fan.close()


def selections_rps(world: World, threads: int, requesters: int, duration_s: float) -> float:
    """Return the selections per second of `requesters` threads, for pages with three slots.

    Each selection searches with `threads` threads. All selections share one fan-out.
    """
    fan_out = FanOut({0: threads}, requesters)
    ledger = Ledger(world.inventory, world.delivered, block=10**9)
    request = selector.Request(3, world.size, world.concepts)
    rng = random.Random(1)
    start = time.perf_counter()

    def work(number: int) -> int:
        done = 0
        while time.perf_counter() < start + duration_s:
            selector.select(request, time.time(), ledger, fan_out, rng)
            done += 1
        return done

    with ThreadPoolExecutor(requesters) as pool:
        done = sum(pool.map(work, range(requesters)))
    took_s = time.perf_counter() - start
    fan_out.close()
    return done / took_s


# A real server


def responses(
    port: int, words: Sequence[str], levels: Sequence[int], clients: int, requests: int
) -> dict[int, Times]:
    """Return the response times by priority level.

    Each client of a closed loop sends `requests` requests of each level, in random order. Raises
    ClickException if the server answers with another status than 200.
    """
    path = f"/ads/select?slots=3&size={SIZE}&concepts={','.join(words)}&priority="
    measured: dict[int, list[float]] = {level: [] for level in levels}

    def client(number: int) -> None:
        rng = random.Random(number)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        for _ in range(requests):
            for level in rng.sample(list(levels), len(levels)):
                start = time.perf_counter()
                connection.request("GET", path + str(level))
                response = connection.getresponse()
                response.read()
                if response.status != 200:
                    raise click.ClickException(f"the server answered {response.status}")
                measured[level].append(time.perf_counter() - start)
        connection.close()

    with ThreadPoolExecutor(clients) as pool:
        for _ in pool.map(client, range(clients)):
            pass  # reading the results raises the errors of the clients
    return {level: Times.of(times) for level, times in measured.items()}


def gain_table(
    title: str, times: Mapping[str, Mapping[int, Times]], concepts: int, others: float
) -> Table:
    """Return a table with a row for each kind of measurement (`memory`, `server`) and each number
    of threads. Gains are relative to one thread.
    """
    table = harness.table(
        f"{title}\nother processes had {others:.0%} of {CPUS} CPUs",
        *("", "threads", "ms, median (quartiles)", "gain", "ideal"),
    )
    for name, by_threads in times.items():
        alone = by_threads[1].middle
        for threads, measured in by_threads.items():
            gain = "" if threads == 1 else f"{1 - measured.middle / alone:.0%}"
            ideal = "" if threads == 1 else f"{ideal_gain(threads, concepts, CPUS):.0%}"
            table.add_row(name, str(threads), str(measured), gain, ideal)
    return table


def gain_words(by_threads: Mapping[int, Times]) -> str:
    """Return a line for each number of threads above 1, with the mean gain of the rounds and its
    95 % interval.
    """
    return "\n".join(
        f"Gain of {threads} threads in memory, %: {measured.gain_over(by_threads[1]).text(1)} "
        f"(95 % interval, {len(measured.each)} rounds)"
        for threads, measured in by_threads.items()
        if threads != 1
    )


@click.command(cls=OneLineCommand)
@click.option(
    "--banners", default=300_000, show_default=True, help="The number of banners in the inventory."
)
@click.option(
    "--concepts", default=10, show_default=True, help="The number of concepts of each request."
)
@click.option(
    "--rounds",
    default=100,
    show_default=True,
    help="The maximum number of measurements of each kind of search.",
)
@click.option(
    "--clients",
    default="1,10",
    show_default=True,
    help="The numbers of clients that use the real server at the same time, separated by commas; "
    "each number is one measurement.",
)
@click.option(
    "--threads",
    default="1,2,4,8",
    show_default=True,
    help="The number of threads of each priority level, separated by commas; one number must be 1.",
)
def main(banners: int, concepts: int, rounds: int, clients: str, threads: str) -> None:
    """Measure the searches and print the tables."""
    console = Console()
    counts = [int(count) for count in threads.split(",")]
    if 1 not in counts:
        raise click.BadParameter(
            f"{threads}; allowed: whole numbers, one of which must be 1", param_hint="--threads"
        )
    sys.setswitchinterval(SWITCH_INTERVAL_S)

    table = harness.table("Can another thread run during the operation?", "operation", "% of calls")
    for name, operation in operations(4_000_000).items():
        table.add_row(name, f"{100 * lets_others_run(operation):.0f}")
    console.print(table)

    with console.status(f"seeding {banners:,} banners"), ExitStack() as stack:
        environment = stack.enter_context(own_ad_server.seeded_database(banners))
        world = World(environment, concepts)
        console.print(f"{len(world.inventory):,} banners, {concepts} concepts a request")

        other_load = OtherLoad()
        times = searches(world, counts, rounds)
        console.print(gain_table("Search of one request", times, concepts, other_load.share()))
        console.print(gain_words(times["memory"]))

        at_a_time = (1, CPUS, 4 * CPUS)
        table = harness.table(
            "Selections per second, in memory (pages of 3 slots)",
            *("threads a request", *(f"{requesters} at a time" for requesters in at_a_time)),
        )
        for count in counts:
            rates = [selections_rps(world, count, requesters, 2.0) for requesters in at_a_time]
            table.add_row(str(count), *(f"{rate:.0f}" for rate in rates))
        console.print(table)

        levels = dict(enumerate(counts))
        port = stack.enter_context(own_ad_server.ad_server(environment, levels, threads=16))
        for number in (int(text) for text in clients.split(",")):
            other_load = OtherLoad()
            requests = max(1, rounds // number)
            by_level = responses(port, world.words, list(levels), number, requests)
            measured = {levels[level]: times for level, times in by_level.items()}
            console.print(
                gain_table(
                    f"Response time over HTTP, {number} client(s) in a closed loop",
                    {"server": measured},
                    concepts,
                    other_load.share(),
                )
            )
