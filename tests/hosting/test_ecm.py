"""The CPU manager with real processes; affinities as the kernel tells them."""

import pytest

from gateway.processor_protocol import Assigned, CpusRequest
from tests.hosting.family import cpus_of, families, manager, usable

CPUS = usable()[:2]
pytestmark = pytest.mark.skipif(len(CPUS) < 2, reason="processors are shared out from two on")

BOTH = ",".join(map(str, CPUS)) if CPUS[-1] - CPUS[0] > 1 else "-".join(map(str, CPUS))
FIRST, LAST = str(CPUS[0]), str(CPUS[-1])


def ecm(**options):
    return manager(cpus=",".join(map(str, CPUS)), **options)


def test_two_that_want_all_get_one_each_with_children_and_threads():
    with families(2) as (one, other), ecm() as m:
        pids = [one.pid, one.fork(), one.fork()]
        for _ in range(3):
            one.thread()
        a = m.register("shop-1", one, 2)
        b = m.register("shop-2", other, 2)
        a.hear_until(lambda said: said == Assigned(1.0, (CPUS[0],)))
        b.hear_until(lambda said: said == Assigned(1.0, (CPUS[1],)))
        assert cpus_of(*pids) == {FIRST}
        assert cpus_of(other.pid) == {LAST}


def test_who_wants_more_gets_it_when_nobody_else_does():
    with families(2) as (one, other), ecm() as m:
        a = m.register("shop-1", one, 2)
        a.hear_until(lambda said: said == Assigned(2.0, tuple(CPUS)))
        assert cpus_of(one.pid) == {BOTH}
        m.register("shop-2", other, 2)
        a.hear_until(lambda said: said.assigned == 1)
        a.say(CpusRequest(0))
        a.hear_until(lambda said: said == Assigned(0.0, ()))
        assert cpus_of(one.pid) == {LAST}  # parked
