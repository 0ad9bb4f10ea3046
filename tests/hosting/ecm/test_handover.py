"""The order in which processors change hands."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from gateway.policies.processor_assignment import Wish, assign, place
from hosting.ecm.handover import steps

NOBODY = frozenset()


def sets(text):
    """Return `a=01 b=2` as a mapping."""
    pairs = (one.split("=") for one in text.split())
    return {name: frozenset(map(int, cpus)) for name, cpus in pairs}


def shown(before, after):
    return [f"{name}={''.join(map(str, sorted(cpus)))}" for name, cpus in steps(before, after)]


def test_first_it_is_taken_away_then_given():
    assert shown(sets("a=0 b=12"), sets("a=01 b=2")) == ["b=2", "a=01"]


def test_a_chain_begins_at_its_free_end():
    assert shown(sets("a=0 b=1"), sets("a=1 b=2")) == ["b=2", "a=1"]


def test_of_two_that_change_places_one_has_none_for_a_moment():
    assert shown(sets("a=0 b=1"), sets("a=1 b=0")) == ["a=", "b=0", "a=1"]


def test_nothing_to_do():
    assert steps(sets("a=01 b=1"), sets("a=01 b=1")) == []


cpu_sets = st.frozensets(st.integers(0, 3), max_size=4)


def check(before, after):
    now = {name: before.get(name, NOBODY) for name in after}
    done = steps(before, after)
    for name, cpus in done:
        assert now[name] != cpus
        now[name] = cpus
        for one, other in combinations(after, 2):
            allowed = after[one] & after[other]
            allowed |= before.get(one, NOBODY) & before.get(other, NOBODY)
            assert now[one] & now[other] <= allowed
    assert now == after
    assert len(done) <= 3 * len(after)


@given(st.dictionaries(st.sampled_from("abcde"), cpu_sets), st.data())
def test_whatever_the_sets_nobody_overlaps_on_the_way(before, data):
    after = data.draw(st.fixed_dictionaries(dict.fromkeys([*before, "f"], cpu_sets)))
    check(before, after)


wishes = st.lists(
    st.tuples(st.sampled_from((1.0, 2.0, 3.0)), st.integers(0, 6)), min_size=1, max_size=5
)


@given(st.lists(wishes, min_size=2, max_size=4), st.integers(1, 6))
def test_from_one_decision_to_the_next(decisions, processors):
    before = {}
    for decision in decisions:
        asked = [Wish(f"shop-{n}", p, r) for n, (p, r) in enumerate(decision)]
        placed = place(assign(asked, processors), range(processors), before)
        check(before, placed)
        before = placed
