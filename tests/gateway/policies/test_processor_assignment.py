"""The CPU manager's function: the paper's zones, and what must hold for any requests."""

from itertools import combinations, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.policies.processor_assignment import Share, Wish, assign, even_shares, place

PRIORITIES = st.sampled_from([0.5, 1.0, 2.0, 3.0])
SHARING = st.sampled_from(["both", "to-high", "none"])


@st.composite
def wishes(draw, most=6):
    count = draw(st.integers(1, most))
    return [Wish(f"shop-{i}", draw(PRIORITIES), draw(st.integers(0, 12))) for i in range(count)]


def two(requested, priority=(1, 1), *, processors=4, sharing="both"):
    shares = assign(
        [Wish("one", priority[0], requested[0]), Wish("two", priority[1], requested[1])],
        processors,
        sharing,
    )
    return [shares["one"].processors, shares["two"].processors]


@pytest.mark.parametrize(
    ("requested", "priority", "sharing", "published"),
    [
        ((5, 1), (1, 1), "both", [3.5, 0.5]),  # Fig. 9, zone B
        ((1, 4), (1, 1), "both", [0.5, 3.5]),  # zone D, one end of the oscillation
        ((2, 3), (1, 1), "both", [1.5, 2.5]),  # … the other
        ((5, 5), (1, 1), "both", [2, 2]),  # zone E
        ((5, 1), (2, 1), "both", [4, 0]),  # Fig. 10, zone B
        ((4, 1), (2, 1), "both", [3.5, 0.5]),
        ((2, 4), (2, 1), "both", [1.5, 2.5]),  # zone D
        ((3, 3), (2, 1), "both", [2.5, 1.5]),
        ((5, 5), (2, 1), "both", [3, 1]),  # zone E
        ((4, 1), (2, 1), "to-high", [4, 0]),  # Fig. 11, zone B
        ((3, 3), (2, 1), "to-high", [3, 1]),  # zone D
        ((1, 5), (1, 1.2), "to-high", [0.5, 3.5]),  # from low to high they do share
    ],
)
def test_the_published_zones(requested, priority, sharing, published):
    assert two(requested, priority, sharing=sharing) == published


@pytest.mark.parametrize(
    ("requested", "processors", "sharing", "expected"),
    [
        ((1, 2), 4, "both", [1, 2]),  # not overloaded: all get what they asked for, no more
        ((3, 3), 3, "both", [1.5, 1.5]),
        ((3, 3), 3, "none", [2, 1]),
        ((2, 2), 2, "both", [1, 1]),
        ((2, 1), 2, "both", [1.5, 0.5]),
        ((0, 9), 4, "both", [0, 4]),
        ((9, 9), 0, "both", [0, 0]),
        ((7, 1), 4, "both", [3.5, 0.5]),  # both quotients end in one half
    ],
)
def test_two_applications(requested, processors, sharing, expected):
    assert two(requested, processors=processors, sharing=sharing) == expected


@given(wishes(), st.integers(0, 16), SHARING)
def test_never_more_than_there_are_nor_than_was_asked_for(wanted, processors, sharing):
    shares = assign(wanted, processors, sharing)
    assert list(shares) == [wish.application for wish in wanted]
    total = sum(share.processors for share in shares.values())
    requested = sum(wish.requested for wish in wanted)
    assert total == min(processors, requested)
    for wish in wanted:
        share = shares[wish.application]
        assert share.whole >= 0
        assert share.processors <= wish.requested
        if requested <= processors:
            assert share == Share(wish.requested)
        if share.half:
            assert shares[share.partner].partner == wish.application
            assert share.partner != wish.application


@given(wishes(), st.integers(0, 16), SHARING)
def test_it_is_deterministic(wanted, processors, sharing):
    assert assign(wanted, processors, sharing) == assign(list(wanted), processors, sharing)


@settings(max_examples=300)
@given(wishes(), st.integers(0, 16))
def test_equals_get_the_same_within_a_half(wanted, processors):
    shares = assign(wanted, processors)
    for one, other in combinations(wanted, 2):
        if (one.priority, one.requested) == (other.priority, other.requested):
            gets = shares[one.application].processors, shares[other.application].processors
            assert abs(gets[0] - gets[1]) <= 0.5


@given(wishes(), st.integers(0, 16), SHARING)
def test_processors_are_shared_as_the_rule_says(wanted, processors, sharing):
    shares = assign(wanted, processors, sharing)
    by_name = {wish.application: wish for wish in wanted}
    halves = [name for name, share in shares.items() if share.half]
    if sharing == "none":
        assert not halves
    if sharing == "to-high":
        for name in halves:
            assert by_name[name].priority != by_name[shares[name].partner].priority


@given(wishes(), wishes(), st.integers(0, 12), SHARING)
def test_only_shared_processors_are_in_two_sets(first, then, processors, sharing):
    cpus = [10 + n for n in range(processors)]
    before = place(assign(first, processors, sharing), cpus, {})
    shares = assign(then, processors, sharing)
    placed = place(shares, cpus, before)
    assert placed == place(shares, cpus, before)
    for name, share in shares.items():
        assert len(placed[name]) == share.whole + share.half
        assert placed[name] <= set(cpus)
    for one, other in combinations(shares, 2):
        common = placed[one] & placed[other]
        assert len(common) == (1 if shares[one].partner == other else 0)


@given(wishes(), st.integers(0, 12), SHARING)
def test_who_gets_the_same_again_keeps_its_processors(wanted, processors, sharing):
    shares = assign(wanted, processors, sharing)
    before = place(shares, range(processors), {})
    assert place(shares, range(processors), before) == before


def test_as_few_processors_move_as_possible():
    before = {"one": frozenset({0, 1, 2}), "two": frozenset({3})}
    placed = place({"one": Share(2), "two": Share(2)}, range(4), before)
    assert placed["one"] < before["one"]
    assert placed["two"] > before["two"]
    placed = place({"one": Share(2, "two"), "two": Share(1, "one")}, range(4), before)
    assert placed == {"one": before["one"], "two": frozenset({2, 3})}


def test_what_was_shared_stays_with_whom_nothing_else_is_left():
    before = {"one": frozenset({0, 1}), "two": frozenset({0})}
    placed = place({"one": Share(1), "two": Share(1)}, range(2), before)
    assert placed == {"one": frozenset({1}), "two": frozenset({0})}


@settings(max_examples=300)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=6),
    st.integers(1, 4),
    SHARING,
)
def test_of_two_none_could_change_less(requests, processors, sharing):
    """Every other placement of the same shares is tried."""
    before = {}
    for one, two in requests:
        shares = assign([Wish("one", 1, one), Wish("two", 2, two)], processors, sharing)
        placed = place(shares, range(processors), before)
        owners = [[name] for name in shares for _ in range(shares[name].whole)]
        owners += [list(shares)] if shares["one"].half else []

        def gained(sets, before=before):
            return sum(len(sets[name] - before.get(name, frozenset())) for name in sets)

        others = (
            {
                name: frozenset(cpu for cpu, of in zip(order, owners, strict=True) if name in of)
                for name in shares
            }
            for order in permutations(range(processors), len(owners))
        )
        assert gained(placed) == min(map(gained, others))
        before = placed


@pytest.mark.parametrize("processors", [2, 3, 4, 8])
def test_a_neighbour_who_is_asked_of_far_too_much_leaves_one(processors):
    shares = assign([Wish("crowded", 1, 1000), Wish("quiet", 1, 1)], processors)
    assert shares["quiet"].processors >= 0.5
    assert shares["crowded"].processors == processors - shares["quiet"].processors


@pytest.mark.parametrize("size", [1e308, 1e-300])
def test_only_the_ratio_of_priorities_counts(size):
    wanted = [Wish("one", size, 4), Wish("two", size, 4), Wish("three", 1 / size, 0)]
    shares = assign(wanted, 4)
    assert [share.processors for share in shares.values()] == [2, 2, 0]


@pytest.mark.parametrize(
    ("wanted", "processors", "reason"),
    [
        ([Wish("a", 1, 1), Wish("a", 1, 1)], 2, "twice"),
        ([Wish("a", 0, 1)], 2, "above 0"),
        ([Wish("a", float("nan"), 1)], 2, "above 0"),
        ([Wish("a", 1, -1)], 2, "at least 0"),
        ([Wish("a", 1, 1)], -1, "at least 0"),
    ],
)
def test_impossible_wishes(wanted, processors, reason):
    with pytest.raises(ValueError, match=reason):
        assign(wanted, processors)


def test_too_few_processors_to_place():
    with pytest.raises(ValueError, match="there are only 1"):
        place({"one": Share(2)}, [0], {})


@pytest.mark.parametrize(
    ("applications", "processors", "shares"),
    [
        (2, (0, 1), [(1, (0,)), (1, (1,))]),
        (2, (0, 1, 2), [(1.5, (0, 1)), (1.5, (1, 2))]),
        (2, (4,), [(0.5, (4,)), (0.5, (4,))]),
        (3, (0, 1, 2, 3), [(1, (0,)), (1, (1,)), (1, (2,))]),
        (3, (0, 1), [(0.5, (0,)), (0.5, (0,)), (0.5, (1,))]),
        (1, (0, 1, 2), [(3, (0, 1, 2))]),
    ],
)
def test_even_shares(applications, processors, shares):
    assert even_shares(applications, processors) == shares
