"""Students' files are read one at a time, and of two long calls the later one wins."""

import asyncio
import threading

import pytest

from gateway.admin.slow_calls import MOST, ChangeOrder, FullError, OvertakenError, ReadingRoom

PATIENCE_S = 240.0


def test_one_after_the_other_and_no_more_than_a_few():
    """The loop goes on while one is read; the ninth call is refused; then there is room again."""
    done, may_end = [], threading.Event()

    def read(number):
        assert may_end.wait(PATIENCE_S)
        done.append(number)
        return number

    async def scene():
        room = ReadingRoom()
        calls = [asyncio.ensure_future(room.do(lambda n=n: read(n))) for n in range(MOST)]
        await asyncio.sleep(0)
        with pytest.raises(FullError, match="8 calls with policies' files"):
            await room.do(lambda: None)
        assert done == []
        may_end.set()
        assert await asyncio.gather(*calls) == done == list(range(MOST))
        assert await room.do(lambda: "again") == "again"
        room.close()

    asyncio.run(scene())


def test_a_fault_is_the_caller_s():
    """An exception of the work reaches its caller, and the room serves the next call."""

    def fails():
        raise KeyError("x")

    async def scene():
        room = ReadingRoom()
        with pytest.raises(KeyError):
            await room.do(fails)
        assert await room.do(lambda: 1) == 1
        room.close()

    asyncio.run(scene())


def test_who_replaces_is_overtaken_by_whatever_was_asked_later():
    for later in ("take", "add"):
        turns = ChangeOrder()
        first, second = turns.ask(), turns.ask()
        getattr(turns, later)(second)
        with pytest.raises(OvertakenError):
            turns.take(first)
        turns.take(turns.ask())


def test_who_adds_is_overtaken_by_who_replaces_alone():
    turns = ChangeOrder()
    first, second, third = turns.ask(), turns.ask(), turns.ask()
    turns.add(second)
    turns.check(first)
    turns.take(third)
    with pytest.raises(OvertakenError):
        turns.check(first)


def test_in_order_all_hold():
    turns = ChangeOrder()
    first, second = turns.ask(), turns.ask()
    turns.take(first)
    turns.check(second)
    turns.add(second)
    turns.take(turns.ask())
