"""The stream of a real appliance: who waits, what was changed, many viewers, an end."""

import json
import re
import signal
import threading
import time
from dataclasses import replace

import pytest
import requests

from common import ports
from lab.console.watch.broadcast import Sold
from lab.results.comparison import ComparisonResult
from tests.lab.console.conftest import PATIENCE_S, call, served
from tests.lab.console.streaming import first, looks, stream
from tests.waiting import until

pytestmark = pytest.mark.long

VIEWERS = 60
APPLIED = "Applied at "


def test_who_waits_is_told_one_by_one(appliance, lab, queue):
    with stream(lab.url("/watch/stream")) as events:
        seen = looks(events)
        # Strip and bars are two calls: what ends between them is in one of the two alone.
        frame = first(seen, lambda one: len(one["strip"] or ()) == one["waiting"] >= 20, "a queue")
        assert frame["waiting"] == sum(frame["waiting_by_page"])
        by_page = [sum(page == number for _, page, _ in frame["strip"]) for number in range(8)]
        assert by_page == frame["waiting_by_page"]
        ids = [id for id, _, _ in frame["strip"]]
        assert ids == sorted(ids)
        assert frame["in_service"] == frame["workers"] == 30
        for customer in queue:
            customer.close()
        left = first(seen, lambda one: any(gone for *_, gone in one["strip"] or ()), "leaving")
        assert left["counts"]["abandoned_waiting"] > 0
        # A visitor's orders are never a run's purchases.
        assert left["confirms"] is left["sold"] is None


def test_without_a_close_look_nobody_asks_who_waits(lab):
    with stream(lab.url("/watch/stream?glance")) as events:
        seen = looks(events)
        frames = [next(seen) for _ in range(2)]
        later = first(seen, lambda one: one["number"] > frames[-1]["number"] + 2, "a look")
        assert later["strip"] is None


def test_a_switch_is_made_and_marked(appliance, lab):
    with stream(lab.url("/watch/stream")) as events:
        seen = looks(events)
        # A shop that still works for those who left would have SBAC admit nobody.
        first(seen, lambda one: one["in_service"] == 0, "an idle shop")
        sent = {"policy": "8q-lifo-pri", "admission": "sbac", "cpu_lower_threshold": "0.9",
                "utility.Tr-4": "1234", "admission.ac_weight": "0.25"}  # fmt: skip
        assert APPLIED in lab.post("/watch/policy", sent).text
        marked = first(seen, lambda one: one["marks"], "a mark")
        assert marked["marks"][0]["text"] == "8Q-LIFO-Pri + SBAC"
        policy = call(appliance, "gateway", "GET", "/snapshot")["policy"]
        assert policy["parameters"]["cpu_upper_threshold"] == 0.99
        assert policy["parameters"]["cpu_lower_threshold"] == 0.9
        assert policy["parameters"]["utility"]["Tr-4"] == 1234
        assert policy["parameters"]["utility"]["Br-1"] == 27
        assert policy["admission"]["parameters"]["ac_weight"] == 0.25
        assert marked["sessions"]["admits"] is True
        assert marked["thresholds"] == [0.99, 0.9]
    with stream(lab.url("/watch/stream")) as events:  # who comes late is told of it too
        history = next(events)
    assert history.name == "history"
    assert "8Q-LIFO-Pri + SBAC" in [mark["text"] for mark in history.data["marks"]]
    assert 'value="0.9"' in lab.get("/watch/").text  # the form has what is in force
    lab.post("/watch/policy", {"policy": "sq", "admission": "none"})


def test_leaving_is_changed_in_gateway_and_shop(appliance, lab):
    for mode, sentry in (("cancel", "cancel"), ("drop-queued", "watch"), ("ignore", "watch")):
        assert APPLIED in lab.post("/watch/abandonment", {"abandonment": mode}).text
        snapshot = call(appliance, "gateway", "GET", "/snapshot")
        assert snapshot["abandonment"]["mode"] == mode
        settings = call(appliance, "shop", "GET", "/status")["settings"]
        assert settings["sentry"] == sentry


def test_shadows_are_asked_for_and_taken_away(appliance, lab):
    sent = {"policy": "door-lifo", "admission": "sbac", "hands": "4"}
    url = f"http://127.0.0.1:{appliance['DOORBUSTER_GATEWAY_PORT']}/"
    assert APPLIED in lab.post("/watch/shadow", sent).text
    assert "is a shadow already" in lab.post("/watch/shadow", sent).text
    lab.post("/watch/shadow", {"policy": "sq", "admission": "none"})
    with stream(lab.url("/watch/stream")) as events:
        seen = looks(events)
        frame = first(seen, lambda one: len(one["shadows"]) == 2, "the shadows")
        assert [one["title"] for one in frame["shadows"]] == ["DOOR-LIFO + SBAC (hands 4)", "SQ"]
        assert requests.get(url, timeout=PATIENCE_S).status_code == 200
        asked = first(seen, lambda one: one["shadows"][1]["asked"], "a request")
        assert asked["shadows"][1]["verdicts"]["same"] == asked["shadows"][1]["asked"]
        lab.post("/watch/shadow/away", {"name": "sq"})
        left = first(seen, lambda one: len(one["shadows"]) == 1, "one less")
        assert left["shadows"][0]["name"] == "door-lifo+sbac (hands 4)"
    lab.post("/watch/shadow/away", {"name": left["shadows"][0]["name"]})
    assert call(appliance, "gateway", "GET", "/shadows")["shadows"] == []


def test_the_fields_of_a_policy_are_those_of_its_sheet(lab):
    text = lab.get("/watch/policy/fields?policy=lifo-at-overload&admission=sbac-stable").text
    names = set(re.findall(r'name="([^"]+)"', text)) - {"csrfmiddlewaretoken"}
    assert names == {
        "policy", "admission", "capacity", "cpu_upper_threshold", "cpu_lower_threshold",
        "admission.ac_threshold", "admission.ac_interval_s", "admission.retry_after_s",
    }  # fmt: skip
    assert "ratio, 0 to 1" in text


def test_a_viewer_who_was_cut_off_misses_nothing(lab):
    with stream(lab.url("/watch/stream")) as events:
        next(events)
        seen = next(events)
    until(lambda: _newest(lab) >= seen.data["number"] + 3, "more looks")
    with stream(lab.url("/watch/stream"), seen.id) as events:
        after = [next(events) for _ in range(4)]
    assert {event.name for event in after} == {"look"}
    number = seen.data["number"]
    assert [event.data["number"] for event in after] == [number + n for n in (1, 2, 3, 4)]


@pytest.mark.parametrize("unknown", ["other-3", "nonsense", "-", "%F0-1"])
def test_a_viewer_of_another_server_is_told_all(lab, unknown):
    with stream(lab.url("/watch/stream"), unknown) as events:
        assert next(events).name == "history"


def _newest(lab):
    with stream(lab.url("/watch/stream")) as events:
        return next(events).data["frames"][-1]["number"]


@pytest.mark.long
def test_sixty_viewers_see_the_same_while_pages_answer(lab):
    together = threading.Barrier(VIEWERS + 1)
    seen, faults = [], []

    def view():
        try:
            with stream(lab.url("/watch/stream")) as events:
                next(events)
                together.wait(PATIENCE_S)
                seen.append([next(events).data["number"] for _ in range(4)])
        except Exception as fault:
            faults.append(fault)
            together.abort()

    viewers = [threading.Thread(target=view) for _ in range(VIEWERS)]
    for viewer in viewers:
        viewer.start()
    together.wait(PATIENCE_S)
    for path in ("/", "/watch/", "/race/", "/launches/"):
        began_s = time.monotonic()
        assert lab.get(path).status_code == 200
        assert time.monotonic() - began_s < 60  # milliseconds; a stream that held a thread: never
    for viewer in viewers:
        viewer.join(PATIENCE_S)
    assert not faults
    assert len(seen) == VIEWERS
    for numbers in seen:
        assert numbers == list(range(numbers[0], numbers[0] + 4))


def test_streams_end_with_the_server(console, tmp_path):
    (port,) = ports.free(1)
    second = replace(console, port=port)
    ended = []

    def view():
        with stream(f"http://127.0.0.1:{port}/watch/stream") as events:
            ready.release()
            for _ in events:  # cut off would be an exception
                pass
            ended.append(True)

    ready = threading.Semaphore(0)
    viewers = [threading.Thread(target=view) for _ in range(5)]
    with served(second, tmp_path) as process:
        for viewer in viewers:
            viewer.start()
        for _ in viewers:
            assert ready.acquire(timeout=PATIENCE_S)
        process.send_signal(signal.SIGTERM)
        process.wait(30)  # two seconds; a stream that holds up the end lasts for ever
    for viewer in viewers:
        viewer.join(PATIENCE_S)
    assert len(ended) == 5
    assert "Traceback" not in (tmp_path / "serve.log").read_text()


RUN = """version = 1
title = "Changed"
engine = "live"
seed = 1
repetitions = 1
time_scale = 20
shadows = ["always-lifo"]
[[policy]]
name = "sq"
[load]
rho = [0.5]
sessions = 150
"""


@pytest.mark.long
def test_a_run_that_is_changed_says_so(appliance, lab):
    answer = lab.upload("spec", "/upload/", "run.toml", RUN.encode())
    launch = answer.url.rstrip("/").rsplit("/", 1)[-1]
    with stream(lab.url("/watch/stream")) as events:
        seen = looks(events)
        began = first(seen, lambda one: (one["run"] or {}).get("run"), "the run")
        assert began["run"]["load_factor"] == 1
        assert APPLIED in lab.post("/watch/load", {"load_factor": "3"}).text
        lab.post("/watch/policy", {"policy": "always-lifo", "admission": "none"})
        texts = []
        while not {"load × 3 (ρ = 1.5)", "Always-LIFO"} <= set(texts):
            texts += [mark["text"] for mark in next(seen)["marks"]]
        first(seen, lambda one: any(mark["kind"] == "end" for mark in one["marks"]), "its end")
    lab.wait_until(launch, "done")
    name = lab.result_of(launch)
    assert "CHANGED IN MID-RUN" in lab.get(f"/results/{name}/").text
    ((_, run),) = ComparisonResult(lab.results / name).whole_runs()
    assert not run.load_factor_file.exists()
    assert [one["name"] for one in run.summary().shadows] == ["always-lifo"]
    assert call(appliance, "gateway", "GET", "/shadows")["shadows"] == []  # they end with the run
    told = [json.loads(line) for line in run.events_file.read_text().splitlines()]
    assert [one["policy"]["name"] for one in told if one["event"] == "switched"] == ["always-lifo"]
    assert [one["factor"] for one in told if one["event"] == "load changed"] == [3.0]


MEASURING = {"title": "A rush", "words": "measuring the shop's capacity, about 40 s left"}
BETWEEN = {"title": "A rush", "words": "the next run begins soon", "between": True}


def run(number, **customers):
    return {"run": number, "words": f"run {number}/2: SQ, ρ = 2", "customers": customers}


def test_nothing_counts_before_the_first_run():
    sold = Sold()
    assert sold.look(None, 1.0) is None
    assert sold.look(MEASURING, 2.0) is None


def test_both_figures_begin_at_zero_with_each_run():
    """Confirms and revenue are of the same run and the same moment."""
    sold = Sold()
    assert sold.look(run(1), 1.0) == {
        "confirms": 0, "revenue_cents": 0, "words": "run 1/2: SQ, ρ = 2", "ended_at": None,
        "before": None,
    }  # fmt: skip
    found = sold.look(run(1, confirms=3, revenue_cents=4500), 2.0)
    assert (found["confirms"], found["revenue_cents"]) == (3, 4500)
    found = sold.look(run(2), 3.0)
    assert (found["confirms"], found["revenue_cents"]) == (0, 0)
    assert found["before"] == {"confirms": 3, "words": "run 1/2: SQ, ρ = 2"}


def test_the_last_run_stays_with_its_end():
    sold = Sold()
    sold.look(run(1, confirms=3, revenue_cents=4500), 2.0)
    for now in (5.0, 6.0):
        found = sold.look(BETWEEN, now)
        assert (found["confirms"], found["words"]) == (3, "run 1/2: SQ, ρ = 2")
        assert found["ended_at"] == 5.0
    assert sold.look(None, 9.0)["ended_at"] == 5.0
    assert sold.look(MEASURING, 10.0) is None  # another experiment begins


def test_several_shops_at_once_have_no_common_figure():
    assert Sold().look({"run": 1, "words": "runs 1 to 2", "customers": None}, 1.0) is None
