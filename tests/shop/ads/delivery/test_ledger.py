"""The deliveries of several processes, in any order of reports and deaths."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shop.ads import inventory
from shop.ads.delivery.ledger import Count, Ledger
from tests.shop.ads.inventories import banner, ledger


def test_no_more_than_contracted():
    one = ledger([banner(1, contracted=3)])
    assert [one.take(0) for _ in range(5)] == [True, True, True, False, False]
    assert one.view.delivered.tolist() == [3]


def test_no_more_than_a_block_goes_unreported():
    one = Ledger(inventory.of([banner(1)]), [0], block=4)
    assert [one.take(0) for _ in range(5)] == [True] * 4 + [False]
    report = one.report()
    assert report.counts == {1: Count(4, 0)}
    assert not one.take(0)  # it is on its way, not there
    one.learn(report, [], {1: 4})
    assert one.take(0)


def test_half_a_block_is_reported_early():
    one = Ledger(inventory.of([banner(1)]), [0], block=4)
    one.take(0)
    assert not one.hurry.is_set()
    one.take(0)
    assert one.hurry.is_set()
    one.report()
    assert not one.hurry.is_set()


def test_a_report_that_is_not_acknowledged_is_the_same_report_again():
    one = ledger([banner(1)])
    one.take(0)
    first = one.report()
    one.take(0)
    one.click(0)
    assert one.report() is first
    one.learn(first, [], {1: 1})
    assert one.view.delivered.tolist() == [2]
    assert one.report().counts == {1: Count(1, 1)}
    assert one.report().number == first.number + 1


def test_nothing_to_report():
    assert ledger([banner(1)]).report() is None


def test_a_banner_that_changes_keeps_its_row_and_count_and_a_new_one_gets_a_row():
    one = ledger([banner(1), banner(2)], [10, 20])
    one.take(1)
    changed = banner(2, contracted=5000, concepts=(3,))
    one.learn(None, [changed, banner(3, size=2)], {2: 20, 3: 7})
    held, delivered = one.view
    assert held.id.tolist() == [1, 2, 3]
    assert held.contracted.tolist() == [1000, 5000, 1000]
    assert held.size.tolist() == [0, 0, 2]
    assert held.concepts[0].tolist() == [0, 3, 0]
    assert delivered.tolist() == [10, 21, 7]


def test_totals_of_banners_that_are_not_known_are_passed_over():
    one = ledger([banner(1)])
    one.learn(None, [], {99: 5})
    assert one.view.delivered.tolist() == [0]


class World:
    """Processes with one banner, and the database between them."""

    def __init__(self, processes, block, contracted):
        self.block, self.contracted = block, contracted
        self.inventory = inventory.of([banner(1, contracted=contracted)])
        self.reported = self.shown = self.lost = 0
        self.processes = [self.new_process() for _ in range(processes)]

    def new_process(self):
        return Ledger(self.inventory, [self.reported], self.block)

    def take(self, which):
        self.shown += self.processes[which].take(0)

    def report(self, which):
        report = self.processes[which].report()
        if report is not None:
            self.reported += report.counts[1].impressions
        self.processes[which].learn(report, [], {1: self.reported})

    def die(self, which):
        report = self.processes[which].report()
        left = 0 if report is None else report.counts[1].impressions
        assert left <= self.block
        self.lost += left
        self.processes[which] = self.new_process()


@given(
    st.integers(1, 4),
    st.integers(1, 10),
    st.integers(0, 60),
    st.lists(st.tuples(st.sampled_from("ttttttrrd"), st.integers(0, 3)), max_size=300),
)
@settings(max_examples=300)
def test_over_delivery_and_loss_keep_their_bounds(processes, block, contracted, events):
    world = World(processes, block, contracted)
    deeds = {"t": world.take, "r": world.report, "d": world.die}
    for deed, which in events:
        deeds[deed](which % processes)
    for which in range(processes):
        world.report(which)
    assert world.reported == world.shown - world.lost
    if contracted:
        assert world.reported <= contracted + processes * block - 1
    if processes == 1:
        assert world.reported <= contracted


@pytest.mark.parametrize("processes", [2, 4])
def test_the_bound_is_reached(processes):
    block = 5
    world = World(processes, block, contracted=1)
    for which in range(processes):
        world.take(which)
    assert world.shown == processes
    world = World(processes, block, contracted=2 * block)
    world.reported = 2 * block - 1
    world.processes = [world.new_process() for _ in range(processes)]
    for which in range(processes):
        world.take(which)
    assert world.shown == processes  # each knew of one that was owed


def test_a_block_of_nothing_is_refused():
    with pytest.raises(ValueError, match="block"):
        Ledger(inventory.of([]), [], 0)
