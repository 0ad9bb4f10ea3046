"""Shadows of a whole gateway on real sockets: with its timers, its leavings, its load."""

import asyncio
import random

import pytest

from gateway.policies.interface import LoadSample
from tests.fake_shop.in_loop import Shop
from tests.gateway.real_sockets import bed
from tests.gateway.students.policies import source

TARGETS = ("/", "/books/1/", "/search/?q=x", "/browse/fiction/")


@pytest.mark.parametrize("policy", ["door-fifo", "8q-lifo-pri", "waiting-room"])
async def test_a_shadow_of_the_acting_policy_agrees_on_real_sockets(policy):
    """Customers who are served, turned away by a timer, or leave; a shop that is slow."""
    parameters = {"wait_s": 0.5} if policy == "door-fifo" else {}
    rng = random.Random(4)

    async def slowly(method, target, fields, body, writer):
        await asyncio.sleep(rng.uniform(0.005, 0.03))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    async def customer(b, target, leaves_s):
        _, writer = await b.connect()
        writer.write(b"GET %b HTTP/1.1\r\nHost: shop\r\n\r\n" % target.encode())
        await asyncio.sleep(leaves_s)
        writer.transport.abort()

    async with bed(Shop(slowly), policy=policy, policy_parameters=parameters, workers=3) as b:
        shadows = [{"name": policy, "parameters": parameters}, {"name": "always-lifo"}]
        await b.admin("PUT", "/shadows", {"policies": shadows})
        everybody = []
        for number in range(150):
            target = rng.choice(TARGETS)
            leaves = rng.random() < 0.3
            asks = customer(b, target, rng.uniform(0, 0.1)) if leaves else b.get(target)
            everybody.append(asyncio.ensure_future(asks))
            if number % 10 == 0:
                b.gateway.parts.pages.load_sample(LoadSample(rng.random(), 3, 1.0))
            await asyncio.sleep(rng.uniform(0, 0.01))
        await asyncio.gather(*everybody)
        await b.until(lambda: b.gateway.parts.pages.requests == 0)
        own, other = (await b.admin("GET", "/shadows"))[1]["shadows"]
    assert own["fault"] == other["fault"] == ""
    assert own["disagreements"] == []
    assert own["verdicts"]["same"] == own["asked"] > 100
    assert (own["waiting"], own["in_service"]) == (0, 0)
    assert other["asked"] > 100


async def test_a_timer_of_a_shadow_alone_is_kept():
    """The acting policy lets them wait; the shadow turns them away after D, without an event."""

    async with bed(Shop(is_held=True), workers=1) as b:
        policy = {"name": "door-fifo", "parameters": {"hands": 1, "wait_s": 0.5}}
        await b.admin("PUT", "/shadows", {"policies": [policy]})
        askers = [asyncio.ensure_future(b.get("/")) for _ in range(3)]
        await b.until(lambda: b.gateway.parts.pages.requests == 3)
        (entry,) = b.gateway.parts.shadow_policies.entries
        await b.until(lambda: entry.shadow.dispatcher.waiting == 0)
        b.shop.let_go(3)
        answers = await asyncio.gather(*askers)
        answers, shadow = answers, (await b.admin("GET", "/shadows"))[1]["shadows"][0]
    assert all(answer.startswith(b"HTTP/1.1 200 ") for answer in answers)
    assert shadow["verdicts"]["would_refuse"] == 2
    assert shadow["disagreements"][0]["said"]["reason"] == "waited 0.5 s in the admission queue"


async def test_a_students_policy_as_a_shadow_falls_out_with_its_process():
    async with bed(Shop(), workers=1, own_policy_s=60.0) as b:
        faulty = {"name": "own/faulty.py", "source": source(workers_free="1 / 0")}
        plain = {"name": "own/plain.py", "source": source()}
        status, answer = await b.admin("PUT", "/shadows", {"policies": [faulty, plain]})
        assert status == 200, answer
        assert b"you asked for" in await b.get("/")
        _, found = await b.admin("GET", "/shadows")
        _, kept = b.gateway.parts.shadow_policies.entries
        process = kept.shadow.dispatcher.policy.child.process
        assert process.returncode is None
        del kept
        await b.admin("PUT", "/shadows", {"policies": []})
        assert process.returncode is not None  # nobody needs it any more
        faulty, plain = found["shadows"]
    assert "ZeroDivisionError" in faulty["fault"]
    assert (plain["name"], plain["fault"], plain["verdicts"]["same"]) == ("plain", "", 1)


async def test_own_policies_as_shadows_have_the_share_of_one_among_them():
    async with bed(Shop(), workers=1) as b:
        call = {"name": "own/plain.py", "source": source()}
        await b.admin("PUT", "/policy", call)
        await b.admin("PUT", "/shadows", {"policies": [call]})
        (entry,) = b.gateway.parts.shadow_policies.entries
        acting = b.gateway.parts.pages.dispatcher.policy
        acting, shadow = (
            acting.limits.share_ratio,
            entry.shadow.dispatcher.policy.limits.share_ratio,
        )
    assert 8 * shadow < acting == 0.25


async def test_an_own_policy_is_one_more_by_its_text_and_a_mended_one_takes_its_place():
    async with bed(Shop(), workers=1) as b:
        await b.admin("PUT", "/shadows", {"policies": [{"name": "sq"}]})
        faulty = {"name": "own/plain.py", "source": source(arrival="1 / 0")}
        mended = {"name": "own/plain.py", "source": source()}
        assert (await b.admin("POST", "/shadows", faulty))[0] == 200
        assert (await b.admin("POST", "/shadows", mended))[0] == 409
        await b.get("/")
        _, fallen = await b.admin("GET", "/shadows")
        assert "ZeroDivisionError" in fallen["shadows"][1]["fault"]
        status, answer = await b.admin("POST", "/shadows", mended)
        assert status == 200, answer
        await b.get("/")
        sq, own = (await b.admin("GET", "/shadows"))[1]["shadows"]
    assert (sq["name"], sq["asked"]) == ("sq", 2)
    assert (own["name"], own["fault"], own["asked"]) == ("plain", "", 1)


async def test_a_full_list_names_the_shadows_that_failed():
    """Failed shadows stay in the list; a call that finds it full learns which ones to remove."""
    async with bed(Shop(), workers=1) as b:
        faulty = {"name": "own/faulty.py", "source": source(arrival="1 / 0")}
        full = [{"name": "sq", "parameters": {"capacity": number}} for number in range(1, 8)]
        await b.admin("PUT", "/shadows", {"policies": [faulty, *full]})
        _, before = await b.admin("POST", "/shadows", {"name": "door-fifo"})
        await b.get("/")
        status, refused = await b.admin("POST", "/shadows", {"name": "door-fifo"})
        await b.admin("DELETE", "/shadows/faulty")
        accepted, _ = await b.admin("POST", "/shadows", {"name": "door-fifo"})
    assert before["allowed"] == "at most 8 shadows; remove a shadow first"
    assert (status, refused["error"]) == (409, "there are already 8 shadows")
    assert refused["allowed"] == "at most 8 shadows; remove a failed shadow (faulty) first"
    assert accepted == 200
