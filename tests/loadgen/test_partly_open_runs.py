"""Real Locust processes that play partly-open sessions against a small real server over TLS."""

import ssl
from collections import Counter
from itertools import groupby
from typing import Any

import pytest

from common import ports
from loadgen.records.attempt_log import read_metadata
from loadgen.records.connection_log import read_connections
from loadgen.records.rows import metadata_of
from loadgen.workload.load_schedule import RateStep, Schedule
from loadgen.workload.partly_open import Partly, PartlyOpenModel
from tests import certificate
from tests.fake_shop.pages import small_shop
from tests.loadgen import locust_process

pytestmark = [pytest.mark.slow, certificate.needs_openssl]

SEED = 3
MODEL = PartlyOpenModel(3, 6, 5, timeout_s=2e4)
"""A model with a patience of 1000 real seconds: no session leaves because this machine is slow."""
SCHEDULE = Schedule.of_rates([RateStep(0, 1), RateStep(10, 0.5)], 30)
QUICK = (
    *("--progress", "json", "--seed", str(SEED), "--time-scale", "20", "--partly-open"),
    *("--sessions-schedule", "0:1,10:0.5,30:0"),
    *("--interactions-mean", "3", "--interactions-most", "6"),
    *("--interaction-think-time-mean-s", "5", "--interaction-timeout-s", "20000"),
)


def _server(made):
    context = made.for_server()
    context.num_tickets = 2
    return context


def _rows(folder):
    rows = locust_process.rows(folder)
    return {session: list(own) for session, own in groupby(rows, lambda row: row.session)}


def _connections(folder):
    found: list[dict[str, Any]] = read_connections(folder / "connections.parquet").to_pylist()
    return found


def _are_the_models(by_session):
    """Assert that every session came at the model's time and requested its pages and
    their images."""
    sessions = Partly(MODEL, SEED)
    arrivals = list(sessions.arrivals(SCHEDULE))
    assert list(by_session) == list(range(len(arrivals)))
    for session, rows in by_session.items():
        assert rows[0].intended_s == arrivals[session]
        pages = sessions.pages(session)
        assert tuple(row.page for row in rows if row.page != "image") == pages
        images = Counter(row.step for row in rows if row.page == "image")
        # Of the small shop's pages the lists show covers.
        assert images == {
            step: sessions.images(session, step)
            for step, page in enumerate(pages)
            if page in ("Br-2", "Br-3")
        }
        assert {row.outcome for row in rows} == {"completed"}


def test_sessions_come_interact_and_leave(made, tmp_path):
    with small_shop(tls=_server(made)) as shop:
        trust = ("--host", shop.url, "--authority", str(made.chain))
        ended = locust_process.run(tmp_path, *trust, *QUICK)
        connections = shop.connections
    assert ended.status == 0, ended.errors
    by_session = _rows(tmp_path)
    _are_the_models(by_session)
    opened = _connections(tmp_path)
    assert [row["session"] for row in opened] == list(by_session), "one connection each"
    assert {row["kind"] for row in opened} == {"new"}
    assert connections == len(opened)
    for row in opened:
        first = by_session[row["session"]][0]
        assert first.started_s <= row["opened_s"] + 1e-6
        assert row["opened_s"] + row["handshake_s"] <= first.finished_s + 1e-6
    summary = ended.summary
    assert summary["complete"] is True
    assert summary["connections_file"] == "connections.parquet"
    assert summary["connections"] == Counter(new=len(opened)) | dict.fromkeys(
        ("resumed", "refused", "failed", "timed_out"), 0
    )
    metadata = read_metadata(tmp_path / "attempts.parquet")
    assert PartlyOpenModel(**metadata["partly_open"]) == MODEL
    assert (metadata["sessions"], metadata["arrivals_until_s"]) == (len(by_session), 30)
    assert metadata["stop_s"] is None
    assert not {"rho", "model", "clients"} & set(metadata)
    assert metadata_of(read_connections(tmp_path / "connections.parquet")) == metadata


def test_no_attempts_without_their_connections(made, tmp_path):
    """A file of attempts, also that of an earlier run, would say that both files are written."""
    (tmp_path / "attempts.parquet").write_bytes(b"of an earlier run")
    (tmp_path / "connections.parquet").mkdir()
    with small_shop(tls=_server(made)) as shop:
        trust = ("--host", shop.url, "--authority", str(made.chain))
        ended = locust_process.run(tmp_path, *trust, *QUICK)
    assert ended.status == 1
    assert "connections.parquet was not written" in ended.errors
    assert [path.name for path in tmp_path.iterdir()] == ["connections.parquet"]


@pytest.mark.long
def test_two_workers_play_the_sessions_of_one_process(made, tmp_path):
    port = str(ports.free(1)[0])
    master = ("--master", "--headless", "--only-summary", "--expect-workers", "2")
    bound = ("--master-bind-host", "127.0.0.1", "--master-bind-port", port)
    with (
        small_shop(lambda seen: "page then close", tls=_server(made)) as shop,
        locust_process.started(
            tmp_path, *master, *bound, "--host", shop.url, "--authority", str(made.chain), *QUICK
        ) as leader,
        locust_process.started(tmp_path, "--worker", "--master-port", port),
        locust_process.started(tmp_path, "--worker", "--master-port", port),
    ):
        ended = locust_process.finish(leader)
    assert ended.status == 0, ended.errors
    by_session = _rows(tmp_path)
    # A server that closes after each page: what met the close was asked for again.
    answered = {
        session: [row for row in rows if row.outcome != "failed"]
        for session, rows in by_session.items()
    }
    _are_the_models(answered)
    assert ended.summary["complete"] is True
    assert [worker["lost"] for worker in ended.summary["workers"]] == [False, False]
    kinds: dict[int, list[str]] = {}
    for row in _connections(tmp_path):
        kinds.setdefault(row["session"], []).append(row["kind"])
    for session, rows in answered.items():
        assert kinds[session] == ["new", *["resumed"] * (len(rows) - 1)]
    assert ended.summary["connections"]["resumed"] > 0


def test_refused_sessions_are_written_and_so_are_those_cut_off(made, tmp_path):
    context = _server(made)
    # Every second connection is turned away; whoever comes in never gets a page.
    turns = iter(range(10**6))
    context.sni_callback = lambda sock, name, _: (
        None if next(turns) % 2 else ssl.ALERT_DESCRIPTION_ACCESS_DENIED
    )
    with small_shop(lambda seen: "hang", tls=context) as shop:
        trust = ("--host", shop.url, "--authority", str(made.chain))
        ended = locust_process.run(tmp_path, *trust, *QUICK, "--stop-s", "40")
    assert ended.status == 0, ended.errors
    by_session = _rows(tmp_path)
    kinds = {row["session"]: row["kind"] for row in _connections(tmp_path)}
    pages = Partly(MODEL, SEED).pages
    for session, rows in by_session.items():
        outcomes = [row.outcome for row in rows]
        first = "refused" if kinds.get(session) == "refused" else "not_generated"
        assert outcomes == [first, *["not_generated"] * (len(pages(session)) - 1)]
    # Twenty come before the stop, but where this machine stands still for all that time.
    assert len(kinds) < 2 or set(kinds.values()) == {"refused", "new"}
    assert ended.summary["complete"] is True
    assert ended.summary["counts"]["ended"] == len(by_session)
    assert ended.summary["stop_s"] == 40


@pytest.mark.long
def test_a_worker_that_lacks_the_authority_is_lost_and_said_to_be(made, tmp_path):
    port = str(ports.free(1)[0])
    master, worker = tmp_path / "master", tmp_path / "worker"
    master.mkdir()
    worker.mkdir()
    (master / "authority.pem").write_bytes(made.chain.read_bytes())
    with (
        locust_process.started(
            master, "--master", "--headless", "--only-summary", "--expect-workers", "1",
            "--master-bind-host", "127.0.0.1", "--master-bind-port", port,
            "--host", "https://127.0.0.1:1", "--authority", "authority.pem", *QUICK,
        ) as leader,
        locust_process.started(worker, "--worker", "--master-port", port),
    ):  # fmt: skip
        ended = locust_process.finish(leader)
    assert ended.status == 1
    assert "cannot start: --authority: there is no file authority.pem" in ended.errors
    assert ended.summary["complete"] is False
    assert [part["lost"] for part in ended.summary["workers"]] == [True]
    assert _rows(master) == {}
