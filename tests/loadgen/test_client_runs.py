"""Real Locust processes that play clients in a closed loop against a small real server."""

from itertools import groupby

import pytest

from common import ports
from loadgen.records.attempt_log import read_metadata
from loadgen.workload.clients import ClientModel, Clients
from tests.fake_shop.pages import small_shop
from tests.loadgen import locust_process

pytestmark = pytest.mark.slow


SEED = 3

PATIENT = ("--patience-max-s", "1e6")
"""A patience for which no client leaves because this machine is slow."""

QUICK = (
    *("--progress", "json", "--seed", str(SEED), "--time-scale", "20"),
    *("--clients-per-set", "3", "--client-think-time-mean-s", "2", "--arrivals-until-s", "60"),
)
"""Three real seconds, about 30 requests of each of six clients."""

MODEL = ClientModel(per_set=3, think_time_mean_s=2)


def _by_client(rows):
    return {client: list(own) for client, own in groupby(rows, lambda row: row.session)}


def _are_the_models(rows):
    """Assert that every client sent the model's requests, in order, and began none too late.

    A client that the machine delayed for the whole run, three seconds, has no row.
    """
    clients = Clients(MODEL, SEED)
    by_client = _by_client(rows)
    assert set() < set(by_client) <= set(range(6))
    for client, own in by_client.items():
        assert [(row.step, row.page) for row in own] == [
            (step, clients.page(client, step)) for step in range(len(own))
        ]
        assert own[0].intended_s == clients.first(client).pause_s
        for row in own:
            assert row.intended_s <= row.started_s < 60


def test_clients_ask_think_and_ask_again_until_time_is_up(tmp_path):
    with small_shop() as shop:
        ended = locust_process.run(tmp_path, "--host", shop.url, *QUICK, *PATIENT)
        seen, connections = list(shop.requests), shop.connections
    assert ended.status == 0, ended.errors
    rows = locust_process.rows(tmp_path)
    _are_the_models(rows)
    assert {row.outcome for row in rows} == {"completed"}
    assert sorted(one.page for one in seen) == sorted(row.page for row in rows)
    assert connections == len(_by_client(rows)), "one browser each, kept alive"
    summary = ended.summary
    assert summary["complete"] is True
    counts = summary["counts"]
    assert counts["planned"] == counts["started"] == counts["ended"] == 6
    assert counts["attempts"] == len(rows)
    metadata = read_metadata(tmp_path / "attempts.parquet")
    assert ClientModel(**metadata["clients"]) == ClientModel(3, 1e6, 2)
    assert metadata["control_clients"] == 3
    assert metadata["arrivals_until_s"] == 60
    assert metadata["complete"] is True
    assert not {"rho", "sessions", "model"} & set(metadata)
    first = ended.progress[0]
    assert (first["planned"], first["until_s"]) == (6, 60)


def test_the_test_set_leaves_and_the_control_set_waits(tmp_path):
    # A page takes 30 times the longest patience.
    impatient = ("--patience-max-s", "0.2", "--away-mean-s", "2")
    with small_shop(delay_s=0.3) as shop:
        ended = locust_process.run(tmp_path, "--host", shop.url, *QUICK, *impatient)
    assert ended.status == 0, ended.errors
    by_client = _by_client(locust_process.rows(tmp_path))
    model = ClientModel(3, 0.2, 2, away_mean_s=2)
    clients = Clients(model, SEED)
    for client in range(3):
        own = by_client.get(client, [])
        assert {row.outcome for row in own} <= {"completed"}
        assert [(row.step, row.attempt) for row in own] == [(step, 1) for step in range(len(own))]
    left = 0
    for client in range(3, 6):
        step, attempt = 0, 1
        for row in by_client.get(client, []):
            assert (row.step, row.attempt) == (step, attempt)
            assert row.patience_s == clients.patience_s(client, step, attempt) <= 0.2
            gone = row.outcome == "timed_out"
            left += gone
            step, attempt, _ = clients.after(client, step, attempt, gone)
    assert left == ended.summary["counts"]["outcomes"]["timed_out"] > 0


@pytest.mark.long
def test_two_workers_play_the_clients_of_one_process(tmp_path):
    port = str(ports.free(1)[0])
    master = ("--master", "--headless", "--only-summary", "--expect-workers", "2")
    bound = ("--master-bind-host", "127.0.0.1", "--master-bind-port", port)
    with (
        small_shop() as shop,
        locust_process.started(
            tmp_path, *master, *bound, "--host", shop.url, *QUICK, *PATIENT
        ) as leader,
        locust_process.started(tmp_path, "--worker", "--master-port", port),
        locust_process.started(tmp_path, "--worker", "--master-port", port),
    ):
        ended = locust_process.finish(leader)
    assert ended.status == 0, ended.errors
    _are_the_models(locust_process.rows(tmp_path))
    workers = ended.summary["workers"]
    assert [worker["sessions_planned"] for worker in workers] == [3, 3]
    assert [worker["sessions_ended"] for worker in workers] == [3, 3]
    assert ended.summary["complete"] is True
