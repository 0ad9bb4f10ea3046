"""Where sockets are."""

import os
import tempfile
from pathlib import Path

import pytest

from runtime.supervision import socket_path


@pytest.mark.parametrize("folder", ["a" * 60, "ä" * 30])
def test_a_short_one_stays_in_its_folder(folder):
    assert socket_path(Path("/") / folder / "own.sock") == Path("/") / folder / "own.sock"


@pytest.mark.parametrize("folder", ["a" * 100, "ä" * 50])
def test_a_long_one_is_in_the_temporary_folder_and_nobody_elses(folder):
    """Its length in bytes counts: 50 letters with dots need a hundred."""
    path, other = (socket_path(Path("/") / folder / name) for name in ("own.sock", "other.sock"))
    assert path != other
    assert path.parent == Path(tempfile.gettempdir())
    assert str(os.geteuid()) in path.name
    assert path == socket_path(Path("/") / folder / "own.sock")
