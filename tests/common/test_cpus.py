"""The notation of CPU lists."""

import pytest

from common import cpus


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((), ""),
        ((3,), "3"),
        ((0, 1), "0,1"),
        ((2, 1, 0), "0-2"),
        ((0, 2, 3, 4, 9), "0,2-4,9"),
        (range(9000, 10_000), "9000-9999"),
    ],
)
def test_a_list_is_written_shortly_and_read_back(numbers, text):
    assert cpus.written(tuple(numbers)) == text
    if text:
        assert cpus.parse(text) == tuple(sorted(numbers))
