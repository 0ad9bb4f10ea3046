"""The CPU manager's decisions and their effects on real processes, turn by turn, read
from /proc."""

import os
import random
import subprocess
import time
from contextlib import contextmanager
from itertools import combinations

import pytest

from gateway.tls.processor_protocol import Assigned, ProtocolError, Register
from hosting.affinity import ProcessTree
from hosting.ecm import accounts
from hosting.ecm.accounts import AccountFile
from hosting.ecm.cpu_manager import CpuManager
from tests.hosting.family import CPUS, cpus_of, families
from tests.waiting import until

two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="two CPUs are needed")
FIRST, LAST = CPUS[:1], CPUS[-1:]


def register(manager, name, family, requested=0, *, priority=1.0, processors=None):
    message = Register(name, priority, family.pid, processors)
    application = manager.register(message, os.getpid())
    manager.request(application, requested)
    return application


def a_manager(**options):
    return CpuManager(CPUS, interval_s=1.0, **options)


@two_cpus
def test_two_that_want_all_get_one_each_with_children_and_threads():
    with families(2) as (one, other):
        pids = [one.pid, one.fork(), *one.grandchild()]
        one.thread()
        m = a_manager()
        a = register(m, "a", one, 2)
        b = register(m, "b", other, 2)
        assert m.turn()
        assert m.assigned(a) == Assigned(1.0, FIRST)
        assert m.assigned(b) == Assigned(1.0, LAST)
        assert cpus_of(*pids) == {FIRST}
        assert cpus_of(other.pid) == {LAST}


@two_cpus
def test_a_shared_processor_is_in_both_sets():
    with families(2) as (one, other):
        m = a_manager(sharing="both")
        a = register(m, "a", one, 1)
        b = register(m, "b", other, 2)
        m.turn()
        assert m.assigned(a) == Assigned(0.5, m.assigned(a).processors)
        assert m.assigned(b) == Assigned(1.5, CPUS)
        assert cpus_of(one.pid) == {m.assigned(a).processors}
        assert cpus_of(other.pid) == {CPUS}


@two_cpus
def test_the_order_of_registrations_decides_nothing():
    with families(3) as members:
        for order in ((0, 1, 2), (2, 0, 1)):
            m = a_manager()
            for number in order:
                register(m, f"shop-{number}", members[number], 2)
            m.turn()
            decided = {one.name: (one.share, one.processors) for one in m.applications}
            if order == (0, 1, 2):
                first = decided
        assert decided == first


def test_who_asks_for_nothing_is_parked_and_others_have_what_there_is():
    with families(2) as (one, other):
        m = a_manager()
        a = register(m, "a", one)
        b = register(m, "b", other, len(CPUS))
        m.turn()
        assert m.assigned(a) == Assigned(0.0, ())
        assert cpus_of(one.pid) == {LAST}
        assert m.assigned(b) == Assigned(float(len(CPUS)), CPUS)
        assert cpus_of(other.pid) == {CPUS}


def test_an_application_has_processors_before_its_first_request():
    """Until then, it counts as requesting all processors, as in the simulator."""
    with families(1) as (one,):
        m = a_manager()
        a = m.register(Register("a", 1.0, one.pid, None), os.getpid())
        m.turn()
        assert m.assigned(a) == Assigned(float(len(CPUS)), CPUS)
        m.request(a, 1)
        m.turn()
        assert m.assigned(a).assigned == 1.0


@two_cpus
def test_who_is_born_later_is_bound_as_well():
    with families(2) as (one, other):
        m = a_manager()
        register(m, "a", one, 2)
        register(m, "b", other, 2)
        m.turn()
        child = one.fork()
        assert cpus_of(child) == {FIRST}  # inherited
        os.sched_setaffinity(child, CPUS)  # somebody meddled
        m.turn()
        assert cpus_of(child) == {FIRST}


@two_cpus
def test_who_has_lost_its_parent_still_belongs():
    with families(2) as (one, other):
        m = a_manager()
        register(m, "a", one, 2)
        m.turn()
        parent, child = one.grandchild()
        m.turn()
        one.tell(f"kill {parent}")
        register(m, "b", other, 2)
        m.turn()
        assert cpus_of(child) == {FIRST}


@two_cpus
def test_trees_that_begin_and_end_processes_all_the_time():
    with families(2) as (one, other):
        for family in (one, other):
            assert family.tell("breed") == "done"
        m = a_manager()
        a = register(m, "a", one, 2)
        b = register(m, "b", other, 2)
        for turn in range(12):
            m.request(a, turn % 3)
            m.request(b, (turn // 3) % 3)
            m.turn()
            for application, family in ((a, one), (b, other)):
                assert cpus_of(family.pid) == {m.assigned(application).processors or LAST}


@two_cpus
def test_nobody_else_is_touched():
    with families(2) as (one, other):
        m = a_manager()
        register(m, "a", one, 1)
        m.turn()
        assert cpus_of(one.pid) == {FIRST}
        assert cpus_of(other.pid) == {CPUS}
        m.hand_back()
        assert cpus_of(other.pid) == {CPUS}


@two_cpus
@pytest.mark.parametrize("sharing", ["both", "to-high", "none"])
def test_assignments_never_overlap_but_for_the_shared_processor(sharing, monkeypatch):
    random_ = random.Random(sharing)
    seen = []
    confine = ProcessTree.confine

    def and_look(tree, cpus):
        changed = confine(tree, cpus)
        seen.append([cpus_of(one.pid) for one in members])
        return changed

    with families(3) as members:
        m = a_manager(sharing=sharing)
        apps = [
            register(m, f"shop-{n}", one, priority=random_.choice((1.0, 2.0)))
            for n, one in enumerate(members)
        ]
        m.turn()
        monkeypatch.setattr(ProcessTree, "confine", and_look)
        for _ in range(30):
            for app in apps:
                m.request(app, random_.choice((0, 1, 2, 3)))
            before = [set(app.processors) for app in apps]
            m.turn()
            after = [set(app.processors) for app in apps]
            for (i, one), (j, other) in combinations(enumerate(apps), 2):
                if one.share.partner != other.name:
                    assert not after[i] & after[j]
                for masks in seen:  # on the way
                    (of_one,), (of_other,) = masks[i], masks[j]
                    if LAST not in (of_one, of_other):  # else one of them may be parked
                        shared = (before[i] & before[j]) | (after[i] & after[j])
                        assert set(of_one) & set(of_other) <= shared
            for app, masks in zip(apps, zip(*seen[-1:], strict=True), strict=True):
                assert masks[-1] == {tuple(sorted(app.processors)) or LAST}
            seen.clear()


def test_processors_of_the_dead_go_back_in_the_next_turn():
    with families(2) as (one, other):
        m = a_manager()
        a = register(m, "a", one, len(CPUS))
        b = register(m, "b", other, len(CPUS))
        m.turn()
        one.process.kill()  # and nobody waits for it: a zombie
        until(lambda: b"Z" in _state(one.pid))
        m.turn()
        assert a.has_left
        assert m.applications == [b]
        assert cpus_of(other.pid) == {CPUS}


def _state(pid):
    with open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()[0]


@two_cpus
def test_what_is_left_of_an_application_that_left_is_parked_until_it_comes_back():
    with families(2) as (one, other):
        os.sched_setaffinity(one.pid, FIRST)
        m = a_manager()
        a = register(m, "a", one, 2)
        register(m, "b", other, 2)
        m.turn()
        m.leave(a)
        m.turn()
        assert cpus_of(one.pid) == {LAST}
        assert cpus_of(other.pid) == {CPUS}
        again = register(m, "a", one, 2)
        assert len(m.applications) == 2
        m.turn()
        assert cpus_of(one.pid) == {tuple(sorted(again.processors))}
        m.hand_back()
        assert cpus_of(one.pid) == {FIRST}  # as it was found, the first time


@two_cpus
def test_all_cpus_are_handed_back_as_they_were_found():
    with families(2) as (one, other):
        child, thread_of = one.fork(), one
        os.sched_setaffinity(child, LAST)
        thread_of.thread()
        m = a_manager()
        register(m, "a", one, 1)
        register(m, "b", other, 1)
        m.turn()
        later = one.fork()
        m.turn()
        assert cpus_of(one.pid, child, later) == {FIRST}
        m.hand_back()
        assert cpus_of(child) == {LAST}
        assert cpus_of(one.pid, later, other.pid) == {CPUS}


@two_cpus
def test_a_successor_changes_nothing_until_all_had_time_to_come():
    now = [0.0]
    with families(2) as (one, other):
        os.sched_setaffinity(one.pid, LAST)
        os.sched_setaffinity(other.pid, FIRST)
        m = a_manager(settle_s=5, clock=lambda: now[0])
        register(m, "a", one, 2, processors=LAST)
        now[0] = 4.9
        assert not m.turn()
        assert cpus_of(one.pid) == {LAST}
        register(m, "b", other, 2, processors=FIRST)
        now[0] = 5.0
        assert m.turn()
        assert cpus_of(one.pid) == {LAST}
        assert cpus_of(other.pid) == {FIRST}
        m.hand_back()
        assert cpus_of(one.pid, other.pid) == {CPUS}  # not what the first manager had made of it


@contextmanager
def expect_refusal(field, words):
    with pytest.raises(ProtocolError) as caught:
        yield
    assert caught.value.field == field
    assert words in caught.value.error


def test_what_cannot_be_registered():
    with families(2) as (one, other):
        m = a_manager()
        register(m, "a", one)
        child = one.fork()

        def pid(number):
            return Register("b", 1.0, number)

        with expect_refusal("application", "'a' is already registered"):
            register(m, "a", other)
        with expect_refusal("process", "there is no process"):
            m.register(pid(2**31 - 1), os.getpid())
        with expect_refusal("process", "contains the CPU manager itself"):
            m.register(pid(os.getpid()), os.getpid())
        with expect_refusal("process", "is in the same process tree as process"):
            m.register(pid(child), os.getpid())
        with expect_refusal("process", "is not related to the registering process"):
            m.register(pid(other.pid), one.pid)
        assert [found.name for found in m.applications] == ["a"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a process of another user")
def test_processes_of_others_are_not_managed():
    with subprocess.Popen(["sleep", "600"], user=65534) as stranger:
        try:
            with expect_refusal("process", "is of user 65534"):
                a_manager().register(Register("a", 1.0, stranger.pid), os.getpid())
        finally:
            stranger.kill()


def test_accounts_sum_up_to_what_was_used(tmp_path):
    with families(2) as (one, other):
        file = AccountFile(tmp_path / "accounts.jsonl")
        m = a_manager(accounts=file)
        before_s = float(one.tell("burn 0"))
        other.tell("burn 0")  # it has started, which takes CPU as well
        a = register(m, "a", one, 1, priority=2.0)
        register(m, "b", other, 0)
        m.turn()
        used_s = float(one.tell("burn 0.3")) - before_s
        m.turn()
        one.tell("burn-in-child 0.3")  # it has ended before anybody looked
        m.turn()
        m.turn()
        file.close()
        entries = list(accounts.read(tmp_path / "accounts.jsonl"))
    assert len(entries) == 4
    assert abs(entries[-1]["time_s"] - time.time()) < 600
    named = [{one["application"]: one for one in e["applications"]} for e in entries]
    total_s = sum(one["a"]["cpu_s"] for one in named)
    assert total_s == pytest.approx(used_s + 0.3, abs=0.1)
    assert total_s == pytest.approx(a.total_cpu_s)
    assert sum(one["b"]["cpu_s"] for one in named) < 0.1
    last = named[-1]["a"]
    assert (last["priority"], last["requested"], last["assigned"]) == (2.0, 1, 1.0)
    assert last["processors"] == list(FIRST)
