"""The lines that commands print in a terminal."""

import pytest
from rich.text import Text

from lab.report.terminal import console

PATH = "/home/student/doorbuster/results/20261121T120000Z-rush/report.html"


@pytest.mark.parametrize("form", [str, Text])
def test_a_path_that_is_longer_than_a_line_stays_whole(monkeypatch, form):
    """Other lines are wrapped between words."""
    monkeypatch.setattr(console, "width", 40)
    with console.capture() as captured:
        console.print(form(f"Report: {PATH}"))
        console.print(form("word " * 20))
    first, *others = captured.get().splitlines()
    assert first == f"Report: {PATH}"
    assert len(others) == 3
