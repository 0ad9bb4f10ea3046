"""Shadows with a shop in virtual time.

They agree with themselves, affect no request, and come near the truth where they decide otherwise.
"""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.policies import ADMISSIONS, POLICIES
from gateway.policies.interface import PAGES, Drop, LoadSample, Outcome, Page
from gateway.policies.registry import create
from gateway.policies.single_queue import SingleQueue
from gateway.shadow.shadow import Shadow
from gateway.shadow.shop import FIRST_GUESS_S
from tests.gateway.shadow_world import Comes, World

PATIENT_S = 1e6


def crowd(requests, rate_rps, seed=1, patience_s=8.0):
    """Return customers with the paper's patience, for any page; two in five are new."""
    rng, now_s, found = random.Random(seed), 0.0, []
    for number in range(requests):
        now_s += rng.expovariate(rate_rps)
        leaves_s = patience_s + rng.expovariate(1 / 12)
        is_new = rng.random() < 0.4
        work_s = rng.uniform(0.09, 0.27)
        found.append(Comes(now_s, rng.choice(PAGES), work_s, leaves_s, f"s{number}", is_new))
    return found


def figures(world):
    return {one["name"]: one for one in world.shadows.figures()}


@settings(max_examples=60, deadline=None)
@given(
    policy=st.sampled_from(sorted(POLICIES)),
    admission=st.sampled_from(sorted(ADMISSIONS)),
    mode=st.sampled_from(["ignore", "drop-queued", "cancel"]),
    workers=st.integers(1, 12),
    rate_rps=st.floats(2.0, 20.0),
    seed=st.integers(0, 10_000),
)
def test_a_shadow_of_the_acting_policy_agrees_in_everything(
    policy, admission, mode, workers, rate_rps, seed
):
    world = World(create(policy, {}, admission), workers=workers, abandonment=mode)
    world.beside(itself=create(policy, {}, admission), other=create("always-lifo", {}))
    world.run(crowd(120, rate_rps, seed, patience_s=1.0))
    own = figures(world)["itself"]
    assert own["fault"] == ""
    assert own["verdicts"] == {name: 120 * (name == "same") for name in own["verdicts"]}
    assert world.shadows.disagreements()["itself"] == []
    assert (own["waiting"], own["in_service"]) == (0, 0)
    assert not world.shadows.real_requests


@pytest.mark.parametrize("policy", ["sq", "door-fifo", "waiting-room", "8q-lifo-pri"])
def test_shadows_change_nothing_for_the_acting_policy(policy):
    ends = []
    for names in ((), ("door-lifo", "codel", "waiting-room", "always-lifo")):
        world = World(create(policy, {}))
        world.beside(**{name: create(name, {}) for name in names})
        world.run(crowd(500, 8.0))
        ends.append(world)
    alone, watched = ends
    # A step more at a shadow's timer: the shop of these tests rounds once more.
    assert watched.served == pytest.approx(alone.served)
    assert watched.refused == pytest.approx(alone.refused)
    assert (watched.left, watched.acting.counts()) == (alone.left, alone.acting.counts())


def test_verdicts_of_a_line_too_short_beside_a_long_one():
    """One worker, three at once, a fourth later; a page needs 0.714 s of work, so 1 s."""
    world = World(create("sq", {}), workers=1)
    world.beside(short=create("sq", {"capacity": 1}), newest=create("always-lifo", {}))
    work_s = 0.714
    world.run(
        [
            Comes(0.0, Page.HOME, work_s, PATIENT_S),
            Comes(0.0, Page.BROWSE, work_s, PATIENT_S),
            Comes(0.0, Page.SEARCH, work_s, PATIENT_S),
            Comes(10.0, Page.HOME, work_s, PATIENT_S),
        ]
    )
    assert world.served == pytest.approx({1: 0.0, 2: 1.0, 3: 2.0, 4: 10.0})
    found = figures(world)
    assert found["short"]["agrees_ratio"] == 0.75
    assert found["short"]["pages"]["Br-3"]["verdicts"]["would_refuse"] == 1
    (refused,) = world.shadows.disagreements()["short"]
    assert (refused["id"], refused["page"], refused["verdict"]) == (3, "Br-3", "would_refuse")
    assert refused["said"]["reason"] == "queue full (1)"
    assert refused["acted"] == {"kind": "served", "after_s": 2.0, "waiting": 0, "reason": ""}
    newest = found["newest"]
    assert newest["verdicts"] | {"same": 2, "earlier": 1, "later": 1} == newest["verdicts"]
    assert newest["pages"]["Br-3"]["earlier_s"] == pytest.approx(1.0)
    assert newest["pages"]["Br-2"]["later_s"] == pytest.approx(1.0)


def test_pages_of_a_session_it_refused_do_not_come():
    world = World(create("sq", {}), workers=1)
    world.beside(short=create("fixed-limit", {"limit": 1}))
    world.run(
        [
            Comes(0.0, session="a"),
            Comes(0.1, session="b"),
            Comes(5.0, Page.BROWSE, session="b", is_new=False),
            Comes(5.0, Page.BROWSE, session="a", is_new=False),
        ]
    )
    short = figures(world)["short"]
    assert short["verdicts"]["would_refuse"] == 1
    assert short["verdicts"]["absent"] == 1
    assert short["verdicts"]["same"] == 2
    assert (short["asked"], short["agrees_ratio"]) == (3, 2 / 3)


def test_whom_both_refuse_does_what_it_does():
    world = World(create("fixed-limit", {"limit": 1}), workers=1)
    world.beside(same=create("sq", {"capacity": 1}))
    world.run([Comes(0.0), Comes(0.1), Comes(0.2, session="c"), Comes(9.0, session="c")])
    assert figures(world)["same"]["verdicts"]["absent"] == 0


def test_a_policy_that_keeps_few_in_service_has_them_done_sooner():
    """Eight share the CPU of thirty: service is shorter after a longer wait, capacity
    is the same."""
    world = World(create("sq", {}), workers=30)
    world.beside(few=create("static-stages", {"hands": 8}), same=create("sq", {}))
    world.run([Comes(0.0, work_s=0.2, patience_s=PATIENT_S) for _ in range(30)], until_s=5.0)
    found = figures(world)
    assert found["same"]["in_service"] == 30
    assert 30 - found["few"]["waiting"] - found["few"]["in_service"] == 24


class Faulty(SingleQueue):
    """A policy that serves some requests, then raises."""

    def __init__(self, arrivals):
        super().__init__("faulty", capacity=100)
        self.arrivals = arrivals

    def arrival(self, time_s, request):
        self.arrivals -= 1
        if self.arrivals < 0:
            raise KeyError("no such thing")
        return super().arrival(time_s, request)


class Breaking(SingleQueue):
    """A policy whose verdict breaks a rule."""

    def arrival(self, time_s, request):
        return (Drop(request.id + 1, "somebody else"),)


def test_a_shadow_that_fails_is_taken_away_and_says_why(caplog):
    world = World(create("sq", {}))
    world.beside(faulty=Faulty(3), breaking=Breaking("breaking", capacity=1), well=create("sq", {}))
    world.run(crowd(50, 8.0))
    found = figures(world)
    assert found["faulty"]["fault"] == "KeyError: 'no such thing'"
    assert "although no request 2 waits" in found["breaking"]["fault"]
    assert found["well"]["verdicts"]["same"] == 50
    assert len(world.served) == 50
    assert "the shadow faulty has stopped because it failed" in caplog.text
    assert list(world.shadows.counts()) == ["well"]


def test_without_a_shadow_left_nobody_is_told():
    world = World(create("sq", {}))
    world.beside(faulty=Faulty(0))
    assert world.acting.observer is world.shadows
    world.run(crowd(5, 8.0))
    assert world.acting.observer is None
    world.beside()
    assert world.shadows.figures() == []


def test_begun_in_mid_run_it_has_whom_the_acting_policy_has():
    world = World(create("sq", {}), workers=2)
    requests = [Comes(0.1 * number, work_s=0.4, patience_s=PATIENT_S) for number in range(40)]
    world.run(requests[:20], until_s=2.0)
    assert world.acting.waiting > 5
    world.beside(same=create("sq", {}))
    one = figures(world)["same"]
    assert (one["waiting"], one["in_service"]) == (world.acting.waiting, 2)
    waiting = world.acting.waiting
    world.run(requests[20:])
    one = figures(world)["same"]
    assert one["verdicts"]["same"] == one["asked"] == waiting + 20


def test_those_that_stay_go_on_and_a_switch_counts_anew():
    world = World(create("sq", {}))
    world.beside(one=create("sq", {}), two=create("sq", {}))
    world.run(crowd(20, 8.0))
    world.shadows.replace([("two", {"name": "two"}, create("sq", {}))])
    assert figures(world)["two"]["asked"] == 20
    world.acting.switch(create("always-lifo", {}))
    assert figures(world)["two"]["asked"] == 0


@pytest.mark.parametrize("acting", ["sq", "door-fifo", "fixed-limit"])
@pytest.mark.parametrize("other", ["sq", "8q-lifo-pri", "door-fifo", "fixed-limit", "codel"])
def test_a_shadow_refuses_about_as_many_as_it_would_when_it_acts(acting, other):
    """The customers are the same whichever policy acts: once as a shadow, once acting."""
    truth = World(create(other, {}))
    truth.run(crowd(1500, 11.0, seed=5))
    world = World(create(acting, {}))
    world.beside(other=create(other, {}))
    world.run(crowd(1500, 11.0, seed=5))
    counts = figures(world)["other"]
    refused = world.shadows.entries[0].shadow.dispatcher.counts()
    refused = sum(row["dropped"] + row["rejected"] for row in refused.values())
    assert counts["fault"] == ""
    assert refused == pytest.approx(len(truth.refused), rel=0.15)


def test_load_is_the_real_one_but_for_what_its_own_shop_is_busier():
    heard = []

    class Listens(SingleQueue):
        def load_sample(self, time_s, sample):
            heard.append(sample)
            return super().load_sample(time_s, sample)

    world = World(create("fixed-limit", {"limit": 1}), workers=4)
    world.beside(listens=Listens("listens", capacity=10))
    world.run([Comes(0.0, work_s=0.357, patience_s=PATIENT_S) for _ in range(2)], until_s=0.9)
    world.now_s = 1.0
    world.acting.load_sample(LoadSample(0.4, 3, 1.0))
    # The shadow serves one more, of whom it could not know what it needs.
    assert heard[0].cpu_utilisation_ratio == pytest.approx(0.4 + FIRST_GUESS_S)
    assert heard[0].busy_workers == 3


@pytest.mark.parametrize(("mode", "withdrawn"), [("ignore", 0), ("drop-queued", 1)])
def test_who_waits_longer_there_leaves_after_a_while(mode, withdrawn):
    """The acting policy serves the newest first, the shadow the oldest; patience is not known."""
    world = World(create("always-lifo", {}), workers=1, abandonment=mode)
    world.beside(oldest=create("sq", {"capacity": 1000}))
    world.run([Comes(0.0, work_s=0.714, patience_s=PATIENT_S) for _ in range(40)])
    lost = [
        one for one in world.shadows.disagreements()["oldest"] if one["verdict"] == "would_lose"
    ]
    assert lost
    for one in lost:  # served in time, and waiting for 20 s in the shadow's world
        assert one["acted"]["after_s"] < 20.0
        assert one["said"]["after_s"] == pytest.approx(20.0)
    counts = world.shadows.entries[0].shadow.dispatcher.counts()["Br-1"]
    assert counts["withdrawn"] == withdrawn * figures(world)["oldest"]["verdicts"]["would_lose"]
    assert counts["dispatched"] + counts["withdrawn"] == 40


def test_sessions_gone_are_forgotten_at_last(monkeypatch):
    monkeypatch.setattr("gateway.shadow.shadow.SESSIONS_REMEMBERED", 3)
    world = World(create("sq", {"capacity": 1000}), workers=1)
    world.beside(none=create("fixed-limit", {"limit": 1}))
    world.run(
        [Comes(0.0, session=f"s{number}", patience_s=PATIENT_S) for number in range(10)],
        until_s=0.1,
    )
    shadow = world.shadows.entries[0].shadow
    assert isinstance(shadow, Shadow)
    assert list(shadow.gone) == ["s7", "s8", "s9"]


def test_a_shadow_that_turns_nobody_away_ends_before_the_memory_does(monkeypatch):
    monkeypatch.setattr("gateway.shadow.shadow.MOST_WAITING", 5)
    world = World(create("fixed-limit", {"limit": 1}), workers=1)
    world.beside(all=create("pass-through", {}))
    world.run([Comes(0.0, patience_s=PATIENT_S) for _ in range(20)], until_s=0.1)
    assert figures(world)["all"]["fault"] == "5 requests wait in the shadow's world"


def test_a_failed_shop_fails_the_shadows_page_too():
    ended = []

    class Listens(SingleQueue):
        def completion(self, time_s, id, outcome):
            ended.append((id, outcome))
            return super().completion(time_s, id, outcome)

    world = World(create("sq", {}), workers=2)
    world.beside(listens=Listens("listens", capacity=10))
    world.run([Comes(0.0), Comes(0.0)], until_s=0.01)
    world.now_s = 0.02
    world.done(1, Outcome.FAILED)
    world.run([])
    assert ended == [(1, Outcome.FAILED), (2, Outcome.ANSWERED)]
