"""Bundles of small simulated results, unpacked."""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.console.results import bundles
from lab.results.reference import FOLDER

GIB = 2**30


@pytest.fixture
def unpacked(tmp_path: Path) -> Callable[[Path], Path]:
    """Pack a result as the console does, and return its folder on another machine."""

    def unpacked_of(folder: Path) -> Path:
        packed = io.BytesIO()
        bundles.write(folder, packed, GIB)
        with zipfile.ZipFile(packed) as bundle:
            bundle.extractall(tmp_path)
        return tmp_path / folder.name

    return unpacked_of


@pytest.fixture
def race(unpacked: Callable[[Path], Path]) -> Path:
    """Return the bundle of the reference race, which has its raw logs."""
    return unpacked(FOLDER / "reference-race")
