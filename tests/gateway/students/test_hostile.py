"""Hostile files and answers, far worse than their size suggests, stop neither gateway
nor reader."""

import asyncio
import time
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import pytest

from gateway.queues.policy_choice import PolicyChoice
from gateway.shadow.shadows import MOST as MOST_SHADOWS
from gateway.shadow.shadows import policy_of_shadow
from gateway.students import files, process, wire
from gateway.students.calls import MisbehavedError, PolicyFile
from gateway.students.limits import MOST_WAITING
from tests.fake_shop.in_loop import Shop
from tests.gateway.real_sockets import bed
from tests.gateway.students.hostile import ANSWERS, FILES, SAYING
from tests.gateway.students.policies import PATIENT, own, request, source

SOON_S = 2.0
"""Seconds for work that takes a tenth of it on an idle machine."""


@asynccontextmanager
async def watched():
    """Yield a list whose only entry is the longest time that the event loop stood still."""
    longest_s, is_over = [0.0], False

    async def watch():
        before_s = time.monotonic()
        while not is_over:
            await asyncio.sleep(0.002)
            now_s = time.monotonic()
            longest_s[0] = max(longest_s[0], now_s - before_s)
            before_s = now_s

    watching = asyncio.create_task(watch())
    try:
        yield longest_s
    finally:
        is_over = True
        await watching


NOT_RUN = (
    "nested calls", "attributes", "one long dotted name", "deep brackets", "minus signs", "elif",
    "many names", "f-strings", "escapes", "impurities", "names that are not allowed", "a null byte",
)  # fmt: skip
"""Files that are refused before any of them is run."""


@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file_is_read_soon(name):
    """A little CPU of its process shows the file's impurities, or that it cannot be read."""
    began_s = time.thread_time()
    reader = process.Confined(PATIENT)
    order = ["read", "own/x.py", FILES[name]]
    with suppress(MisbehavedError):  # its memory did not suffice
        answer = reader.ask(order, PATIENT.start_s, "reading it", None, wire.OF_A_FILE)
        assert len(wire.impurities_of(answer)) <= 101
    assert reader.cpu_s() < 2 * SOON_S
    reader.end()
    assert time.thread_time() - began_s < SOON_S


async def test_hostile_files_do_not_stop_the_gateway():
    """Each gets an answer of one line, while the event loop and customers go on."""

    async with bed(Shop(), workers=1, own_policy_s=60.0) as b, watched() as longest_s:
        for name in NOT_RUN:
            text = FILES[name]
            call = {"name": "own/hostile.py", "source": text}
            for method, path in (("PUT", "/policy"), ("POST", "/shadows")):
                status, answer = await b.admin(method, path, call)
                assert status == 400, (name, answer)
                assert len(answer["error"].splitlines()) == 1, name
                assert len(answer["error"]) < 1_000, name
        assert b"you asked for" in await b.get("/")
        assert longest_s[0] < SOON_S


def test_a_file_is_read_once():
    """The second time its digest is enough."""
    file = PolicyFile("own/x.py", "import os\n# read once")
    found = files.impurities(file)
    assert files.impurities(replace(file, name="own/y.py")) is found


def saying(answer):
    """Return a policy that answers `workers_free` with this expression."""
    return SAYING + source(workers_free=f"say({answer})")


@pytest.mark.parametrize("name", ANSWERS)
def test_a_hostile_answer_is_given_up_soon(name):
    """Reading it takes little more than receiving it, also where 20,000 wait."""
    answer = eval(ANSWERS[name]).encode()
    for about in (1, MOST_WAITING):
        began_s = time.thread_time()
        with pytest.raises(wire.WireError):
            wire.decision_of(wire.unpacked(answer, wire.most_about(about)))
        assert time.thread_time() - began_s < SOON_S


@pytest.mark.parametrize("name", ANSWERS)
def test_after_a_hostile_answer_everybody_is_served(name):
    """The stand-in goes on as FIFO, and its reason is one line."""
    told = []
    policy = own(saying(ANSWERS[name]), told=told)
    policy.arrival(0.0, request(1))
    began_s = time.thread_time()
    assert [one.id for one in policy.workers_free(0.0, 1)] == [1]
    assert time.thread_time() - began_s < SOON_S
    (why,) = told
    assert len(why.reason) < 1_000
    assert why.reason.isprintable()


def test_an_answer_is_bounded_by_who_waits():
    """The limit for one request is far below that for twenty thousand."""
    few, many = wire.most_about(1), wire.most_about(MOST_WAITING)
    assert few.size_bytes < 70_000
    assert many.size_bytes <= 4 * 1024 * 1024
    reason = 'too many, wait: [é"\\] ' * 5
    rows = [["reject", id, reason, 8.5] for id in range(MOST_WAITING)]
    answer = wire.packed([rows, None])[4:]
    assert len(wire.decision_of(wire.unpacked(answer, many))[1]) == MOST_WAITING


async def test_eight_hostile_shadows_stop_the_gateway_for_a_moment():
    """All answer with as many values as they can in one event; all are taken away."""

    async with bed(Shop(), workers=1, own_policy_s=60.0) as b:
        for number, answer in enumerate([*ANSWERS.values()][:MOST_SHADOWS]):
            name = f"own/hostile_{number}.py"  # not by the API, which takes pure files only
            choice = PolicyChoice(name, file=PolicyFile(name, saying(answer)))
            policy = policy_of_shadow(choice, 60.0)
            b.gateway.parts.shadow_policies.add(choice.label, choice.described(), policy)
        async with watched() as longest_s:
            assert b"you asked for" in await b.get("/")
        assert longest_s[0] < SOON_S
        _, shadows = await b.admin("GET", "/shadows")
        assert [bool(one["fault"]) for one in shadows["shadows"]] == [True] * MOST_SHADOWS
