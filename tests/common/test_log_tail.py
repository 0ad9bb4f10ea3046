"""The end of a log, as messages show it."""

import pytest

from common import log_tail


def test_the_last_lines_and_where_the_rest_is(tmp_path):
    log = tmp_path / "shop.log"
    log.write_bytes(b"one\ntwo\nthr\xffee\n")
    assert (
        log_tail.of(log, 2) == f"last lines of {log}:\n    two\n    thr\N{REPLACEMENT CHARACTER}ee"
    )
    nothing = "    (it printed nothing)"
    assert (
        log_tail.of(tmp_path / "none.log") == f"last lines of {tmp_path / 'none.log'}:\n{nothing}"
    )


@pytest.mark.parametrize(
    ("said", "last"),
    [("one\n two \n\n", "two"), ("", "it printed nothing"), ("\n \n", "it printed nothing")],
)
def test_the_last_line_with_something_in_it(said, last):
    assert log_tail.last_line(said) == last


def test_only_the_end_of_a_long_log_is_read(tmp_path):
    """A message needs a few lines, whatever a process has printed."""
    log = tmp_path / "shop.log"
    log.write_bytes(b"first\n" + b"x\n" * 300_000 + b"last\n")
    found = log_tail.read(log)
    assert found.endswith("x\nlast\n")
    assert len(found) < 300_000
