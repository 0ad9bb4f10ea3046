"""Students' files are read one at a time, and only a few calls wait for it."""

import asyncio
import threading

import pytest

from gateway.students.reading_room import MOST, FullError, ReadingRoom

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
