"""Real Locust processes against a small real server: schedule, outcomes, ends."""

import signal
import time
from collections import Counter
from statistics import median

import pytest

from common import ports
from loadgen.records.attempt_log import read_metadata
from loadgen.records.attempts import Attempt, AttemptOutcome
from loadgen.workload.sessions import Customers, SessionLengths, SessionModel
from tests.fake_shop.pages import small_shop
from tests.loadgen import locust_process

pytestmark = pytest.mark.slow


PATIENT = ("--timeout-s", "600")
"""A patience of a real half-minute or more: no customer leaves because this machine is slow."""

# 120 sessions arrive within about 1.2 real seconds.
QUICK = (
    *("--progress", "json", "--time-scale", "20", "--session-rate", "5", "--sessions", "120"),
    *PATIENT,
)


def test_sessions_of_the_model_arrive_walk_and_buy(tmp_path):
    with small_shop() as shop:
        ended = locust_process.run(tmp_path, "--host", shop.url, "--seed", "5", *QUICK)
        seen, orders = list(shop.requests), dict(shop.orders)
        connections = shop.connections
    assert ended.status == 0, ended.errors
    customers = Customers(SessionModel(timeout_s=600), 5, 5.0)
    rows = locust_process.rows(tmp_path)
    assert [(row.session, row.page) for row in rows] == [
        (session, page) for session in range(120) for page in customers.walk(session)
    ]
    assert {row.outcome for row in rows} == {"completed"}
    assert {row.attempt for row in rows} == {1}
    first = [row for row in rows if row.step == 0]
    assert [row.intended_s for row in first] == [
        at for at, _ in zip(customers.arrivals(), range(120), strict=False)
    ]
    for row in rows:
        assert row.patience_s == customers.patience_s(row.session, row.step, 1)
        assert row.intended_s <= row.started_s <= row.finished_s
        assert row.request_id.startswith("request-")
    # The server saw what the customers say they did, one connection per customer.
    assert Counter(one.page for one in seen) == Counter(row.page for row in rows)
    assert connections == 120
    assert len(orders) == sum(row.page == "Tr-4" for row in rows)
    # And what was printed is what was written.
    assert ended.summary["counts"]["confirms"] == len(orders)
    assert ended.summary["counts"]["revenue_cents"] == 101_290 * len(orders)
    assert ended.summary["counts"]["attempts"] == len(rows)
    assert ended.summary["complete"] is True
    assert ended.summary["interrupted"] is False
    assert ended.progress, "a progress line a second"
    assert ended.progress[0]["planned"] == 120
    metadata = read_metadata(tmp_path / "attempts.parquet")
    assert metadata == {
        name: value
        for name, value in ended.summary.items()
        if name not in ("event", "attempts_file")
    }


def _trouble(seen):
    if seen.page == "Br-2":
        return "drop"
    if seen.page == "Br-4":
        return {"/books/17/": "cut", "/books/4309/": "reject"}[seen.path]
    return "hang" if seen.page == "Br-3" else "page"


@pytest.mark.long
def test_trouble_of_each_kind_ends_sessions_as_the_paper_says(tmp_path):
    # Every search hangs, so patience is short here, 1 s + Exp(1 s) real, which is much for the
    # pages that come.
    impatience = ("--timeout-s", "2", "--think-timeout-mean-s", "2", "--time-scale", "2")
    rush = ("--session-rate", "20", "--sessions", "120", "--progress", "json")
    with small_shop(_trouble) as shop:
        ended = locust_process.run(tmp_path, "--host", shop.url, *impatience, *rush)
        seen = list(shop.requests)
    assert ended.status == 0, ended.errors
    model = SessionModel(timeout_s=2, think_timeout_mean_s=2)
    customers = Customers(model, 1, 20.0)
    rows = locust_process.rows(tmp_path)
    by_session: dict[int, list[Attempt]] = {}
    for row in rows:
        by_session.setdefault(row.session, []).append(row)
    for session, own in by_session.items():
        walk = customers.walk(session)
        expected = [(0, 1, "completed")]
        if len(walk) > 1 and walk[1] == "Br-2":
            expected.append((1, 1, "dropped"))
        elif len(walk) > 1:
            attempt = 1
            while customers.retries(session, 1, attempt):
                attempt += 1
            expected += [(1, nth, "timed_out") for nth in range(1, attempt + 1)]
        expected += [(step, 0, "not_generated") for step in range(2, len(walk))]
        assert [(row.step, row.attempt, row.outcome) for row in own] == expected
    # A customer who is gone has closed the connection, at the patience drawn for that attempt.
    timed_out = [row for row in rows if row.outcome == AttemptOutcome.TIMED_OUT]
    searches = [one for one in seen if one.page == "Br-3"]
    assert len(timed_out) == len(searches) > 50
    waits = [one.left - one.came for one in searches if one.left is not None]
    meant = [customers.patience_s(row.session, 1, row.attempt) / 2 for row in timed_out]
    assert len(waits) == len(searches)
    # The middle one: when this machine stands still for a moment, some wait longer.
    assert median(waits) == pytest.approx(median(meant), abs=0.5)
    for row in timed_out:
        assert row.finished_s - row.started_s >= row.patience_s - 0.1
    retries = [row for row in timed_out if row.attempt > 1]
    numbers = Counter(one.headers["x-doorbuster-attempt"] for one in searches)
    assert sum(count for number, count in numbers.items() if number != "1") == len(retries) > 10


def test_a_rejected_session_is_over_and_the_others_go_on(tmp_path):
    """As with admission, some new sessions are turned away, but no later requests."""
    turned_away: set[int] = set()

    def manner(seen):
        if seen.page == "Br-1" and seen.connection % 3 == 0:
            turned_away.add(seen.connection)
            return "reject"
        return "page"

    with small_shop(manner) as shop:
        ended = locust_process.run(
            tmp_path, "--host", shop.url, "--session-length-mean", "4", *QUICK
        )
        seen = list(shop.requests)
    assert ended.status == 0, ended.errors
    customers = Customers(SessionModel(lengths=SessionLengths("geometric", 4)), 1, 5.0)
    by_session: dict[int, list[Attempt]] = {}
    for row in locust_process.rows(tmp_path):
        by_session.setdefault(row.session, []).append(row)
    assert set(by_session) == set(range(120))
    rejected = 0
    for session, own in by_session.items():
        assert [row.page for row in own] == list(customers.walk(session))
        if own[0].outcome == "completed":
            assert {row.outcome for row in own} == {"completed"}
            continue
        rejected += 1
        assert (own[0].outcome, own[0].status, own[0].attempt) == ("rejected", 503, 1)
        assert {row.outcome for row in own[1:]} <= {"not_generated"}
    assert rejected == len(turned_away) == ended.summary["counts"]["outcomes"]["rejected"] == 40
    # Whoever was turned away asked for nothing more.
    assert {one.page for one in seen if one.connection in turned_away} == {"Br-1"}
    assert sum(one.connection in turned_away for one in seen) == 40


def test_nobody_listening_is_refused_for_every_session(tmp_path):
    url = f"http://127.0.0.1:{ports.free(1)[0]}"
    ended = locust_process.run(tmp_path, "--host", url, *QUICK)
    rows = locust_process.rows(tmp_path)
    assert ended.status == 0
    assert {row.outcome for row in rows} == {"refused", "not_generated"}
    assert sum(row.outcome == "refused" for row in rows) == 120


def test_arrivals_do_not_wait_for_a_slow_shop(tmp_path):
    # Each page takes 0.3 real seconds, 100 sessions a real second: dozens are in the shop.
    with small_shop(delay_s=0.3) as shop:
        locust_process.run(tmp_path, "--host", shop.url, *QUICK, "--timeout-s", "inf")
    rows = locust_process.rows(tmp_path)
    first = [row for row in rows if row.step == 0]
    in_the_shop = max(
        sum(row.started_s <= at < row.finished_s for row in rows)
        for at in (row.started_s for row in first)
    )
    assert in_the_shop > 30
    late = [row.started_s - row.intended_s for row in first]
    # One after the other would be 18 real seconds late on average.
    assert sum(late) / len(late) < 60, "paper seconds; 3 real"


def test_a_late_start_is_reported(tmp_path):
    # No attempt starts within a microsecond of its schedule: all fell behind.
    with small_shop() as shop:
        ended = locust_process.run(
            tmp_path, "--host", shop.url, *QUICK, "--late-tolerance-ms", "0.001"
        )
    schedule = ended.summary["schedule"]
    assert schedule["late_share"] > 0.9
    assert schedule["max_behind_s"] > 0
    assert ended.summary["workers"][0]["schedule"] == schedule
    assert ended.progress[0]["behind_s"] > 0
    assert "fell behind schedule" in ended.errors


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_writes_what_it_measured(tmp_path, sign):
    options = ("--progress", "json", "--time-scale", "1", "--session-rate", "20", "--sessions")
    with (
        small_shop(delay_s=0.05) as shop,
        locust_process.started(
            tmp_path, "--headless", "--only-summary", "--host", shop.url, *options, "9999"
        ) as process,
    ):
        assert process.stdout is not None
        line = process.stdout.readline()
        process.send_signal(sign)
        ended = locust_process.finish(process, [line])
    assert ended.status == 0, ended.errors
    assert "Traceback" not in ended.errors
    assert ended.summary["interrupted"] is True
    assert ended.summary["complete"] is False
    counts = ended.summary["counts"]
    assert 0 < counts["started"] < 9999
    rows = locust_process.rows(tmp_path)
    assert len(rows) == counts["attempts"] > 0
    assert read_metadata(tmp_path / "attempts.parquet")["interrupted"] is True


def test_a_closed_loop_measures_capacity(tmp_path):
    # 8 customers, 0.1 s a page and nothing else: 80 pages a real second, 8 a paper second.
    options = ["--closed-loop-customers", "8", "--closed-loop-warm-up", "4"]
    options += ["--closed-loop-duration", "12", "--time-scale", "10", "--progress", "json"]
    with small_shop(delay_s=0.1) as shop:
        ended = locust_process.run(tmp_path, "--host", shop.url, *options)
        connections = shop.connections
    found = ended.summary["closed_loop"]
    assert found["not_completed"] == 0
    assert 2 < found["capacity_rps"] <= 9
    rows = locust_process.rows(tmp_path)
    inside = [row for row in rows if 4 <= row.finished_s < 16]
    assert found["completed"] == len(inside)
    assert found["capacity_rps"] == len(inside) / 12
    # Never more than 8 at once, and all the time.
    busy_s = sum(row.finished_s - row.started_s for row in rows)
    assert 0.5 * 8 < busy_s / 16 <= 8
    assert connections >= ended.summary["counts"]["started"] - 8
    assert ended.summary["complete"] is True


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--load-schedule", "9"], "locust: error: --load-schedule: '9' is not a segment; give"),
        (["--sessions", "0"], "locust: error: --sessions: 0 is out of range; give 1 or more"),
        (["--host", "shop"], "locust: error: --host shop: not an address of the shop"),
    ],
)
def test_a_wrong_option_is_one_line_and_status_2(tmp_path, options, line):
    ended = locust_process.run(tmp_path, *options)
    assert ended.status == 2
    assert ended.errors.startswith(line)
    assert ended.errors.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_told_and_nothing_is_left(tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    with (
        small_shop() as shop,
        locust_process.started(
            tmp_path,
            *("--headless", "--only-summary", "--host", shop.url, *QUICK),
            *("--attempts-file", str(folder / "a.parquet")),
        ) as process,
    ):
        while not shop.requests:
            time.sleep(0.01)
        folder.rmdir()
        ended = locust_process.finish(process)
    assert ended.status == 1
    assert "--attempts-file" in ended.errors
    assert "was not written" in ended.errors
    assert "Traceback" not in ended.errors
