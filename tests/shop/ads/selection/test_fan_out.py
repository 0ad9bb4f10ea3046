"""A level's requests are searched by that level's threads, one concept per thread at a time."""

import threading

import pytest

from shop.ads.selection.fan_out import FanOut, check_levels

PATIENCE_S = 120.0


@pytest.fixture
def fan_out():
    made = FanOut({0: 1, 1: 2, 2: 8}, requests=2)
    yield made
    made.close()


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("concepts", [[], [5], list(range(40))])
def test_every_concept_is_searched_once_at_every_level(fan_out, level, concepts):
    assert sorted(fan_out.search(level, concepts, lambda concept: concept * 2)) == [
        concept * 2 for concept in concepts
    ]


def test_low_priority_stays_in_the_thread_that_asks(fan_out):
    assert set(fan_out.search(0, range(20), lambda _: threading.get_ident())) == {
        threading.get_ident()
    }


@pytest.mark.parametrize(("level", "threads"), [(1, 2), (2, 8)])
def test_a_level_searches_with_all_of_its_threads_at_once(fan_out, level, threads):
    meeting = threading.Barrier(threads)  # opens only when as many threads search at once

    def find(concept):
        meeting.wait(PATIENCE_S)
        return threading.get_ident()

    assert len(set(fan_out.search(level, range(threads), find))) == threads


def test_no_more_threads_than_the_level_has(fan_out):
    lock, now, most = threading.Lock(), [0], [0]

    def find(concept):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        with lock:
            now[0] -= 1

    fan_out.search(1, range(500), find)
    assert most[0] <= 2


@pytest.mark.parametrize("failing", range(6))
def test_a_search_that_fails_fails_the_request(fan_out, failing):
    def find(concept):
        if concept == failing:
            raise LookupError(concept)

    with pytest.raises(LookupError):
        fan_out.search(1, range(6), find)
    assert fan_out.search(1, [1], lambda concept: concept) == [1]


def test_a_pool_that_is_busy_costs_a_request_only_its_help():
    fan_out = FanOut({0: 1, 1: 2}, requests=1)
    busy, release = threading.Event(), threading.Event()

    def hold(concept):
        if threading.current_thread() is not threading.main_thread():
            busy.set()
            release.wait(PATIENCE_S)
        elif concept == 0:
            busy.wait(PATIENCE_S)
        return concept

    other = threading.Thread(target=fan_out.search, args=(1, [1, 2, 3], hold))
    other.start()
    assert busy.wait(PATIENCE_S)
    assert sorted(fan_out.search(1, [5, 6, 7], lambda concept: concept)) == [5, 6, 7]
    release.set()
    other.join(PATIENCE_S)
    fan_out.close()


@pytest.mark.parametrize("levels", [{}, {1: 2}, {0: 1, 2: 2}, {0: 0}, {0: 1, 1: 9}])
def test_levels_that_make_no_sense_are_refused(levels):
    with pytest.raises(ValueError, match="priority level"):
        check_levels(levels)
