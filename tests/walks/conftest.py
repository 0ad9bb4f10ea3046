"""The fixture of all walks."""

from pathlib import Path

import pytest

from tests.walks.copies import ProjectCopy


@pytest.fixture
def copy(tmp_path: Path) -> ProjectCopy:
    """A copy of the project."""
    return ProjectCopy(tmp_path / "copy")
