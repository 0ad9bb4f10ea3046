"""Durations in words."""

import pytest

from lab.wording import duration


@pytest.mark.parametrize(
    ("real_s", "words"),
    [
        (0.0, "1 s"),
        (39.6, "40 s"),
        (89.4, "89 s"),
        (90.0, "2 min"),
        (180.0, "3 min"),
        (89 * 60.0, "89 min"),
        (90 * 60.0, "1 h 30 min"),
        (3 * 3600.0 + 59, "3 h 01 min"),
    ],
)
def test_a_duration_is_said_as_roughly_as_it_is_long(real_s: float, words: str) -> None:
    assert duration(real_s) == words
