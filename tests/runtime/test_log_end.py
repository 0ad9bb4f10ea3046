"""The end of a log, as messages show it."""

from pathlib import Path

import pytest

from runtime import log_end


def test_the_last_lines_and_where_the_rest_is(tmp_path: Path) -> None:
    log = tmp_path / "shop.log"
    log.write_bytes(b"one\ntwo\nthr\xffee\n")
    assert (
        log_end.of(log, 2) == f"last lines of {log}:\n    two\n    thr\N{REPLACEMENT CHARACTER}ee"
    )
    nothing = "    (it printed nothing)"
    assert log_end.of(tmp_path / "none.log") == f"last lines of {tmp_path / 'none.log'}:\n{nothing}"


@pytest.mark.parametrize(
    ("said", "last"),
    [("one\n two \n\n", "two"), ("", "it printed nothing"), ("\n \n", "it printed nothing")],
)
def test_the_last_line_with_something_in_it(said: str, last: str) -> None:
    assert log_end.last_line(said) == last
