"""Binding process trees; refusing where that cannot be done."""

import errno
import os
from dataclasses import replace

import pytest

from hosting import affinity
from hosting.affinity import AffinityError, ProcessTree, check
from hosting.processes import Listing
from tests.hosting.family import CPUS, cpus_of, families

two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="one CPU cannot be taken away")


def test_where_it_works_nothing_has_changed_afterwards():
    before = os.sched_getaffinity(0)
    check(CPUS)
    assert os.sched_getaffinity(0) == before


def test_cpus_that_may_not_be_used_are_named():
    before = os.sched_getaffinity(0)
    with pytest.raises(AffinityError, match=r"may not use CPU 8190,9999 .*allowed: 0"):
        check((CPUS[0], 8190, 9999))
    assert os.sched_getaffinity(0) == before


def test_a_seccomp_filter_is_named(monkeypatch):
    def forbidden(pid, cpus):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setaffinity", forbidden)
    with pytest.raises(AffinityError, match=r"Operation not permitted.*seccomp"):
        check(CPUS)


def test_other_systems_are_named(monkeypatch):
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(AffinityError, match=r"needs Linux \(sched_setaffinity\); this is darwin"):
        check(CPUS)


@two_cpus
def test_all_threads_of_all_descendants_are_bound_and_given_back():
    with families() as (one,):
        listing = Listing.now()
        tree = ProcessTree(listing[one.pid], listing)
        pids = [one.pid, one.fork(), *one.grandchild()]  # not seen yet
        one.thread()
        assert tree.confine(frozenset(CPUS[:1])) >= 2
        assert set(tree.members) == set(pids)
        assert cpus_of(*pids) == {CPUS[:1]}
        assert tree.confine(frozenset(CPUS[:1])) == 0
        tree.hand_back()
        assert cpus_of(*pids) == {CPUS}


@two_cpus
def test_a_stranger_who_got_the_number_of_an_ended_thread_keeps_its_cpus(monkeypatch):
    with families() as (one,):
        listing = Listing.now()
        tree = ProcessTree(listing[one.pid], listing)
        monkeypatch.setattr(affinity, "has_thread", lambda pid, thread: False)
        monkeypatch.setattr(affinity, "MOST_PASSES", 1)
        tree.confine(frozenset(CPUS[:1]))
        assert cpus_of(one.pid) == {CPUS}


@two_cpus
def test_a_stranger_who_got_the_number_of_an_ended_process_keeps_its_cpus():
    with families() as (one,):
        now = Listing.now()[one.pid]
        earlier = replace(now, started_ticks=now.started_ticks - 1)
        tree = ProcessTree(earlier, Listing({one.pid: earlier}))
        assert tree.confine(frozenset(CPUS[:1])) == 0
        assert cpus_of(one.pid) == {CPUS}


@two_cpus
def test_a_tree_in_a_cpuset_of_its_own_is_tried_once(monkeypatch):
    tried = []
    with families() as (one,):
        listing = Listing.now()
        tree = ProcessTree(listing[one.pid], listing)
        monkeypatch.setattr(os, "sched_setaffinity", lambda pid, cpus: tried.append(pid))
        assert tree.confine(frozenset(CPUS[:1])) == 0
        assert tried == [one.pid]


def test_a_tree_that_has_ended():
    with families() as (one,):
        listing = Listing.now()
        tree = ProcessTree(listing[one.pid], listing)
        assert tree.is_alive
        one.process.kill()
        one.process.wait()
        assert tree.confine(frozenset(CPUS[:1])) == 0
        tree.look(Listing.now())
        assert not tree.is_alive
        tree.hand_back()
