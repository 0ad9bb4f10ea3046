"""A student's policy in a whole gateway on real sockets: customers are served whatever it does."""

import asyncio
import errno
import threading

import pytest

from gateway.policies import PolicyError
from gateway.students import naming, process
from gateway.students.files import MOST_BYTES
from tests.fake_shop.in_loop import Shop
from tests.gateway.real_sockets import PATIENCE_S, bed
from tests.gateway.students.policies import own, source

PATIENT = {"workers": 1, "own_policy_s": 60.0}
FALLBACKS = "doorbuster_gateway_policy_fallbacks_total"


async def fallbacks(b):
    _, text = await b.admin("GET", "/metrics")
    (line,) = [line for line in text.splitlines() if line.startswith(FALLBACKS)]
    return float(line.split()[1])


async def test_by_path_it_decides_and_is_switched_away(tmp_path):
    path = tmp_path / "plain.py"
    path.write_text(source())

    async with bed(Shop(is_held=True), **PATIENT) as b:
        first = asyncio.create_task(b.get("/?n=1"))
        await b.until(lambda: b.shop.busy == 1)
        waits = asyncio.create_task(b.get("/?n=2"))
        await b.until(lambda: b.gateway.parts.pages.dispatcher.waiting == 1)
        call = {"name": str(path), "parameters": {"capacity": 1}}
        status, answer = await b.admin("PUT", "/policy", call)
        assert status == 200, answer
        assert (answer["name"], answer["file"]) == ("plain", str(path))
        assert len(answer["sha256"]) == 64
        assert {"limits", "seccomp"} <= answer["confinement"].keys()
        assert answer["parameters"] == {"capacity": 1}
        process = b.gateway.parts.pages.dispatcher.policy.child.process
        assert b"X-Doorbuster-Verdict: dropped" in await b.get("/?n=3")
        _, waiting = await b.admin("GET", "/waiting")
        assert waiting["waiting"] == 1
        status, _ = await b.admin("PUT", "/policy", {"name": "sq"})
        assert status == 200
        assert process.returncode is not None  # nobody needs it any more
        b.shop.let_go(2)
        assert b"you asked for" in await first
        assert b"you asked for" in await waits
        assert await fallbacks(b) == 0


async def test_its_metrics_are_forgotten_when_it_is_switched_away():
    """Prometheus reads what it has counted once more; then nothing names the policy."""

    async with bed(Shop(), **PATIENT) as b:
        call = {"name": "own/plain.py", "source": source()}
        assert (await b.admin("PUT", "/policy", call))[0] == 200
        assert (await b.admin("POST", "/shadows", {"name": "8q-af"}))[0] == 200
        assert b"you asked for" in await b.get("/")
        _, during = await b.admin("GET", "/metrics")
        assert 'policy="plain"' in during
        assert 'policy="8q-af"' in during
        assert (await b.admin("PUT", "/policy", {"name": "sq"}))[0] == 200
        assert (await b.admin("DELETE", "/shadows/8q-af"))[0] == 200
        _, once_more = await b.admin("GET", "/metrics")
        assert 'policy="plain"' in once_more
        _, afterwards = await b.admin("GET", "/metrics")
        assert "plain" not in afterwards
        assert "8q-af" not in afterwards


async def test_a_long_text_comes_through_however_json_writes_it():
    letters = MOST_BYTES // 2 - 3000

    async with bed(Shop(), **PATIENT) as b:
        text = source() + "# " + "é" * letters  # of two bytes each, in JSON of six
        call = {"name": "own/plain.py", "source": text}
        status, answer = await b.admin("PUT", "/policy", call)
        assert (status, answer["name"]) == (200, "plain")


async def test_given_up_in_mid_run_it_loses_nobody_and_is_seen():
    async with bed(Shop(is_held=True), **PATIENT) as b:
        call = {"name": "own/plain.py", "source": source(workers_free="1 / (self.times < 2)")}
        status, answer = await b.admin("PUT", "/policy", call)
        assert status == 200, answer
        customers = []
        for number in range(1, 4):
            customers.append(asyncio.create_task(b.get(f"/?n={number}")))
            waits = max(0, number - 1)
            await b.until(lambda n=waits: b.gateway.parts.pages.dispatcher.waiting == n)
            await b.until(lambda: b.shop.busy == 1)
        assert await fallbacks(b) == 0
        b.shop.let_go(4)
        for customer in customers:
            assert b"you asked for" in await asyncio.wait_for(customer, PATIENCE_S)
        assert b"you asked for" in await b.get("/?n=4")
        assert [target for _, target, _, _ in b.shop.requests] == [
            f"/?n={number}" for number in range(1, 5)
        ]
        assert await fallbacks(b) == 1
        _, snapshot = await b.admin("GET", "/snapshot")
        assert snapshot["policy"]["name"] == "plain"
        why = snapshot["policy"]["snapshot"]["fallen_back"]["reason"]
        assert "ZeroDivisionError" in why


async def test_one_that_never_answers_blocks_once_for_the_deadline():
    async with bed(Shop(), workers=1, own_policy_s=0.3) as b:
        loop = "while True: pass"
        call = {"name": "own/plain.py", "source": source(workers_free=loop)}
        assert (await b.admin("PUT", "/policy", call))[0] == 200
        assert b"you asked for" in await b.get("/?n=1")
        assert b"you asked for" in await b.get("/?n=2")
        assert await fallbacks(b) == 1


async def test_what_cannot_be_a_policy_changes_nothing():
    async with bed(Shop(), **PATIENT) as b:
        for call, field, words in (
            ({"name": "own/nowhere.py"}, "name", "No such file"),
            ({"name": "own/x.py", "source": "import os"}, "name", "line 1: import os"),
            ({"name": "own/x.py", "source": "x = 1"}, "name", "has no SHEET"),
            ({"name": "own/x.py", "source": 7}, "source", "must be text"),
            ({"name": "own/x.py", "source": ""}, "name", "has no SHEET"),
            ({"name": "own/x.py", "source": "x = '\ud800'"}, "name", "must be a text file"),
            ({"name": "own/\ud800.py", "source": "x = 1"}, "name", "only printable characters"),
            ({"name": "own\0/x.py"}, "name", "only printable characters"),
            (
                {"name": "own/x.py", "source": source(), "parameters": {"capacity": 0}},
                "parameters.capacity",
                "out of range",
            ),
        ):
            status, answer = await b.admin("PUT", "/policy", call)
            assert (status, answer["field"]) == (400, field), answer
            assert words in answer["error"]
        assert (await b.admin("GET", "/snapshot"))[1]["policy"]["name"] == "sq"
        assert b"you asked for" in await b.get("/")


@pytest.mark.parametrize("path", ["/policy", "/shadows"])
async def test_a_fault_of_the_gateway_s_own_gets_an_answer(path, monkeypatch):
    def fails(*_, **__):
        raise RuntimeError("two\nlines")

    async with bed(Shop(), **PATIENT) as b:
        monkeypatch.setattr(naming, "create", fails)
        call = {"name": "own/plain.py", "source": source()}
        call = {"policies": [call]} if path == "/shadows" else call
        status, answer = await b.admin("PUT", path, call)
        assert status == 500
        assert answer == {
            "error": "the gateway could not carry out the call: RuntimeError: two lines"
        }
        assert b"you asked for" in await b.get("/")


@pytest.mark.parametrize("path", ["/policy", "/shadows"])
async def test_of_two_calls_the_one_that_was_asked_later_holds(path, monkeypatch):
    """The first is still being made when the second is in force."""
    begun, may_end, create = threading.Event(), threading.Event(), naming.create

    def slowly(*given, **named):
        begun.set()
        assert may_end.wait(PATIENCE_S)
        return create(*given, **named)

    def call(policy):
        return {"policies": [policy]} if path == "/shadows" else policy

    async with bed(Shop(), **PATIENT) as b:
        monkeypatch.setattr(naming, "create", slowly)
        own_one = {"name": "own/plain.py", "source": source()}
        first = asyncio.create_task(b.admin("PUT", path, call(own_one)))
        await b.until(begun.is_set)
        status, _ = await b.admin("PUT", path, call({"name": "8q-af"}))
        assert status == 200
        may_end.set()
        status, answer = await first
        assert status == 409
        assert answer["error"] == "a later call has already taken effect"
        _, snapshot = await b.admin("GET", "/snapshot")
        kept = [one["name"] for one in snapshot["shadows"]]
        assert (kept or [snapshot["policy"]["name"]]) == ["8q-af"]
        assert (await b.admin("PUT", path, call(own_one)))[0] == 200  # in its own turn


def test_where_no_process_can_be_started_it_is_said(monkeypatch):
    def fails(*_, **__):
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(process.subprocess, "Popen", fails)
    with pytest.raises(PolicyError, match="cannot start a process for the policy: Resource"):
        own(source())


async def test_it_stands_behind_session_admission():
    async with bed(Shop(), **PATIENT) as b:
        call = {
            "name": "own/plain.py",
            "source": source(),
            "admission": {"name": "sbac-responsive"},
        }
        status, answer = await b.admin("PUT", "/policy", call)
        assert (status, answer["admission"]["name"]) == (200, "sbac-responsive")
        assert b"you asked for" in await b.get("/")
        _, snapshot = await b.admin("GET", "/snapshot")
        assert snapshot["policy"]["snapshot"]["admission"]["admitted"] == 1
