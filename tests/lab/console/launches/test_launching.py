"""From the form to the result, and every way in which a launch can end."""

import math
import os
import re
import signal
import subprocess

import psutil
import pytest

from lab.spec.experiment import SPECS, read_spec
from tests.lab.console.conftest import FORM, worker
from tests.lab.console.launch_rows import live_launch
from tests.waiting import until

pytestmark = pytest.mark.slow


def test_a_form_becomes_a_result(console):
    answer = console.post("/launch/lifo-pri-simulated/", FORM)
    assert "/launches/" in answer.url, answer.text
    launch = answer.url.rstrip("/").rsplit("/", 1)[-1]
    console.wait_until(launch, "done", "failed")
    assert console.state_of(launch) == "done", console.get(f"/launches/{launch}/").text
    name = console.result_of(launch)
    page = console.get(f"/results/{name}/").text
    assert "8Q-LIFO-Pri" in page
    assert "Counts reconcile in all 2 runs" in page
    assert console.get(f"/results/{name}/table/0.csv").content.startswith(
        "\ufeffrho,policy,metric,value".encode()
    )
    assert console.get(f"/results/{name}/files/spec.toml").text.count("name = ") == 2
    race = console.get(f"/race/?result={name}").text
    assert race.count('data-run="') == 2
    (run,) = [
        path.name for path in (console.results / name / "runs").iterdir() if "-sq-" in path.name
    ]
    frames = console.get(f"/race/lanes/{name}/{run}.json").json()
    assert len(frames["time_s"]) == len(frames["waiting_by_page"][0]) > 10


def test_the_file_of_a_form_launches_the_same(console):
    answer = console.post("/launch/lifo-pri/", {**FORM, "download": ""})
    assert answer.headers["Content-Disposition"] == 'attachment; filename="mine.toml"'
    assert "sessions = 200" in answer.text
    launched = console.upload("spec", "/upload/", "mine.toml", answer.content)
    assert "/launches/" in launched.url


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("rho", "much", "“much” is not valid. Enter numbers separated by commas"),
        ("rho", "1, -1", "Offered loads must be between 0.01 and 20, not -1."),
        ("rho", "1,4", "Did you mean 1.4? To give two loads, write a space after the comma: 1, 4."),
        ("rho", "nan", "Offered loads must be between 0.01 and 20, not nan."),
        ("duration_s", "60", "Give a number of sessions or a duration, not both."),
        ("sessions", "-5", "Sessions must be between 1 and 1,000,000."),
        ("sessions", "many", "whole number"),
        ("sessions", "", "Give a number of sessions, or a duration."),
        ("repetitions", "0", "Repetitions must be between 1 and 1,000."),
        ("policies", ["lifo"], "Policies: “lifo” is not in the list"),
        ("engine", "dreamt", "Engine: “dreamt” is not in the list"),
        ("time_scale", "1000", "Time scale must be between 1 and 100."),
        ("page_profile", "real", "exists only in the real shop"),
        ("title", "", "required"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(console, field, value, said):
    before = launches(console)
    answer = console.post("/launch/lifo-pri-simulated/", {**FORM, field: value})
    assert answer.status_code == 400
    faults = answer.text.split('class="fault"')[1:]
    assert any(said in fault.split("</p>")[0] for fault in faults), faults
    assert "Takes about" not in answer.text
    assert launches(console) == before


def test_two_loads_with_a_space_between_them_are_two(console):
    spec = read_spec(
        console.post("/launch/lifo-pri/", {**FORM, "rho": "1, 4", "download": ""}).text,
        "downloaded",
    )
    assert spec.load.rhos == (1.0, 4.0)


def test_a_long_launch_is_asked_about(console):
    """It joins the queue only with the box that the page shows then."""
    before = launches(console)
    long = {**FORM, "sessions": "1000000", "repetitions": "20"}
    answer = console.post("/launch/lifo-pri-simulated/", long)
    assert 'name="sure"' in answer.text
    assert "This launch takes about" in answer.text
    assert launches(console) == before
    launched = console.post("/launch/lifo-pri-simulated/", {**long, "sure": "1"})
    (launch,) = launches(console) - before
    assert launch in launched.url
    console.post(f"/launches/{launch}/cancel", {})
    console.wait_until(launch, "cancelled")


def test_what_experiments_compare_is_not_folded(console):
    """The essential fields stand before the folded ones; admission does where it is compared."""
    folded = {
        name: console.get(f"/launch/{name}/").text.partition("<details")[2]
        for name in ("lifo-pri", "sbac")
    }
    for name in ("policies", "rho", "sessions", "engine"):
        assert f'name="{name}"' not in folded["lifo-pri"], name
    assert 'name="seed"' in folded["lifo-pri"]
    assert 'name="admission"' in folded["lifo-pri"]
    assert 'name="admission"' not in folded["sbac"]
    assert 'name="duration_s"' in folded["lifo-pri"]
    assert 'name="duration_s"' not in folded["sbac"]


def launches(console) -> set[str]:
    """Those that stand on the queue's page, in whatever state."""
    return set(re.findall(r'id="launch-([0-9a-f]+)"', console.get("/launches/table").text))


def test_proxies_are_chosen_beside_policies(console):
    live = {**FORM, "engine": "live", "download": "", "gateway": ["haproxy", "nginx"]}
    spec = read_spec(console.post("/launch/lifo-pri/", live).text, "downloaded")
    assert [one.key for one in spec.policy] == ["sq", "8q-lifo-pri", "haproxy", "nginx"]
    answer = console.post("/launch/lifo-pri/", {**live, "engine": "simulated"})
    assert answer.status_code == 400
    assert "HAProxy and nginx are real programs, so the simulated engine cannot" in answer.text
    one = console.post("/launch/lifo-pri/", {**live, "engine": "simulated", "gateway": ["nginx"]})
    assert "nginx is a real program, so the simulated engine cannot run it." in one.text
    answer = console.post("/launch/lifo-pri/", {**live, "admission": ["sbac"]})
    assert "replaces the gateway" in answer.text


def test_a_prediction_follows_the_form(console):
    assert "Takes about" in console.post("/launch/lifo-pri/predict", FORM).text
    assert (
        "Some fields are not valid"
        in console.post("/launch/lifo-pri/predict", {**FORM, "rho": "x"}).text
    )


def test_who_waits_for_one_without_an_end_sees_no_time(console):
    endless = {"expected_s": math.inf}
    with (
        live_launch(console, "endless", "running", title="Endless", **endless),
        live_launch(console, "behind", "queued", title="Behind it", **endless),
    ):
        for page in ("/launches/", "/launches/table", "/launches/behind/"):
            answer = console.get(page)
            assert answer.status_code == 200
            assert re.search(
                r"Behind it</a>\s*</td><td>live</td><td>–</td>|begins in about –", answer.text
            )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x89PNG\r\n\x1a\n\xff\xfe", "is not UTF-8 text"),
        (b"x" * 1_048_577, "Size of a spec file: "),
        (b"version = 1\n[[policy]]\nname = 'best'\n", "best"),
        (b"version = 1\nfoo = 2\n", "unknown key"),
        (b"[[[", "my.toml"),
    ],
)
def test_a_file_that_is_no_spec_is_refused(console, content, said):
    answer = console.upload("spec", "/upload/", "my.toml", content)
    assert said in answer.text
    assert 'role="alert"' in answer.text


@pytest.mark.long
def test_a_running_launch_is_cancelled_and_leaves_nothing_running(console):
    launch = console.launch("Long", sessions=100_000, repetitions=20)
    console.wait_until(launch, "running")
    until(lambda: console.get(f"/launches/{launch}/").text.count("results"), "its folder")
    console.post(f"/launches/{launch}/cancel")
    console.wait_until(launch, "cancelled")
    until(lambda: not commands_of(console), "the end of its command")
    assert not commands_of(console)


@pytest.mark.long
def test_one_that_waits_is_cancelled_and_moved(console):
    first = console.launch("First", sessions=100_000, repetitions=20)
    second = console.launch("Second", sessions=100)
    third = console.launch("Third", sessions=100)
    console.wait_until(first, "running")
    if console.state_of(second) == "queued":
        console.post(f"/launches/{third}/first")
        table = console.get("/launches/table").text
        assert table.index("Third") < table.index("Second")
    console.post(f"/launches/{second}/cancel")
    console.post(f"/launches/{first}/cancel")
    console.wait_until(first, "cancelled")
    console.wait_until(second, "cancelled", "done")
    console.wait_until(third, "done")


def test_a_launch_that_cannot_be_says_why(console):
    answer = console.upload(
        "spec", "/upload/", "live.toml", (SPECS / "first-look.toml").read_bytes()
    )
    launch = answer.url.rstrip("/").rsplit("/", 1)[-1]
    console.wait_until(launch, "failed")
    assert "make up" in console.get(f"/launches/{launch}/").text


@pytest.mark.long
def test_a_command_that_outlives_its_worker_is_ended(console):
    launch = console.launch("Over", sessions=100)
    console.wait_until(launch, "done")
    deaf = subprocess.Popen(["sh", "-c", "trap '' TERM INT; while :; do sleep 1; done"])
    try:
        began_s = psutil.Process(deaf.pid).create_time()
        mark = console.state / "console" / "launches" / launch / "command"
        mark.write_text(f"{deaf.pid} {began_s}", encoding="utf-8")
        until(lambda: deaf.poll() is not None, "the end of what was left over")
        until(lambda: not mark.exists(), "its mark's end")
        assert deaf.wait() == -signal.SIGKILL
    finally:
        deaf.kill()
        deaf.wait()


@pytest.mark.long
def test_workers_that_die_leave_the_truth_and_the_next_run_works(console, tmp_path):
    """The last here: the console's own workers are dead after it."""
    launch = console.launch("Doomed", sessions=100_000, repetitions=20)
    console.wait_until(launch, "running")
    until(lambda: commands_of(console), "its command")
    process = psutil.Process(console.workers.process.pid)
    for one in [*process.children(recursive=False), process]:
        os.kill(one.pid, signal.SIGKILL)
    console.wait_until(launch, "interrupted")
    until(lambda: not commands_of(console), "the end of its command")
    with worker(console, tmp_path):
        again = console.launch("Next", sessions=100)
        console.wait_until(again, "done")
        assert console.state_of(again) == "done"


def commands_of(console) -> list[int]:
    """Processes of `doorbuster` that carry out a launch of this console."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if "doorbuster" in words and any(str(console.state) in word for word in words):
            found.append(process.pid)
    return found
