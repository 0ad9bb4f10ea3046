"""The ad server's clients: their requests, and one process with a small server."""

import json
from collections import Counter
from dataclasses import asdict
from itertools import islice, pairwise
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from loadgen.customers.ad_clients import AdOrder, play, requests_of
from loadgen.customers.browser import ShopAddress
from loadgen.records.attempt_log import read_attempts, read_metadata
from tests.fake_shop.server import Reply, fake_server
from tests.programs import python

WORDS = tuple("abcdefghijkl")


def order(folder=Path(), **changes):
    values = {
        "clients": 3,
        "requests": 6,
        "concepts": 4,
        "high": 5,
        "words": WORDS,
        "seed": 1,
        "attempts_file": str(folder / "attempts.parquet"),
        "facts": {"cell": "small"},
    }
    return AdOrder(**{**values, **changes})


def asked(path):
    return {name: value for name, [value] in parse_qs(urlsplit(path).query).items()}


def test_half_of_the_requests_are_high_in_random_order():
    all_of_them = [
        list(islice(requests_of(order(requests=100, seed=seed), client), 100))
        for seed in (1, 2)
        for client in (0, 1)
    ]
    for requests in all_of_them:
        assert Counter(one.priority for one in requests) == {"low": 50, "high": 50}
        levels = {one.priority: asked(one.path)["priority"] for one in requests}
        assert levels == {"low": "0", "high": "5"}
    orders = {tuple(one.priority for one in requests) for requests in all_of_them}
    assert len(orders) == 4


def test_clients_share_the_odd_request():
    odd = [
        Counter(one.priority for one in islice(requests_of(order(requests=3), client), 3))
        for client in (0, 1)
    ]
    assert odd == [{"low": 2, "high": 1}, {"low": 1, "high": 2}]


def test_the_same_seed_gives_the_same_requests_and_no_concept_twice():
    first, again = (list(islice(requests_of(order(), 2), 20)) for _ in range(2))
    assert first == again
    assert first != list(islice(requests_of(order(seed=2), 2), 20))
    for one in first:
        concepts = asked(one.path)["concepts"].split(",")
        assert len(set(concepts)) == len(concepts) == 4
        assert set(concepts) <= set(WORDS)


def test_an_order_survives_its_line():
    assert AdOrder.from_json(json.dumps(asdict(order()))) == order()


def clients(url, *orders):
    return python(
        "-m",
        "loadgen.customers.ad_clients",
        url,
        input="".join(json.dumps(asdict(one)) + "\n" for one in orders),
    )


def test_every_client_makes_its_requests_one_after_the_other(tmp_path):
    wanted = order(tmp_path)
    with fake_server(lambda _: {"banners": [{"id": 1}]}) as server:
        done = clients(server.url, wanted)
    assert done.returncode == 0, done.stderr
    [went] = map(json.loads, done.stdout.splitlines())
    rows = read_attempts(Path(wanted.attempts_file)).to_pylist()
    assert went["failed"] == 0
    assert went["answered"] == len(rows)
    assert went["took_s"] > 0
    for client in range(3):
        own = [row for row in rows if row["session"] == client]
        # All of its own, and then more until the others have theirs.
        assert [row["step"] for row in own] == list(range(len(own)))
        assert len(own) >= 6
        assert Counter(row["page"] for row in own[:6]) == {"low": 3, "high": 3}
        for before, after in pairwise(own):
            assert before["finished_s"] <= after["started_s"]
    assert {row["outcome"] for row in rows} == {"completed"}
    metadata = read_metadata(Path(wanted.attempts_file))
    assert (metadata["cell"], metadata["requests"]) == ("small", 6)


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        (b'{"banners": []}', 200, "no banners left"),
        (b"<html>", 200, "no list of banners"),
        (b"{}", 400, "HTTP status 400"),
    ],
)
def test_what_is_no_answer_is_counted_and_named(tmp_path, body, status, reason):
    with fake_server(lambda _: Reply(body, status)) as server:
        went = play(order(tmp_path, clients=1), ShopAddress.from_url(server.url))
    assert (went["answered"], went["failed"]) == (0, 6)
    assert reason in went["reason"]


def test_a_bad_address_is_refused_in_a_line():
    done = clients("ftp://x")
    assert done.returncode == 1
    assert "ftp://x" in done.stderr
    assert "Traceback" not in done.stderr
