"""The check that a noted process still lives."""

import os
import subprocess
import sys

import pytest

from runtime import living


def test_a_process_lives_until_it_has_ended_also_if_nobody_has_asked_how() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as process:
        noted = living.note(process.pid)
        assert living.is_alive(noted)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # a zombie from here on
        assert not living.is_alive(noted)
    assert not living.is_alive(noted)


def test_another_process_with_its_number_is_not_it() -> None:
    process, began = living.note().split()
    assert living.is_alive(f"{process} {began}")
    assert not living.is_alive(f"{process} {float(began) - 60}")


def test_what_is_no_note() -> None:
    with pytest.raises(ValueError, match="unpack"):
        living.is_alive("")
