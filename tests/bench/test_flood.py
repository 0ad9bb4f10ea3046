"""The benchmark of a flood: sessions in progress, the table, the targets, a quick run."""

from dataclasses import replace

import pytest
from click.testing import CliRunner
from rich.console import Console

from bench.flood import DOOR, Score, main, table, verdicts
from bench.flood_sessions import PATHS, Session
from bench.harness import Wrk
from tests.skips import needs

pytestmark = pytest.mark.slow


SCORE = Score(
    under_way=50,
    completed=49,
    newcomers=100,
    newcomers_completed=10,
    used_ratio=0.98,
    flood_ratio=0.4,
    p99_ms=120.0,
    memory_mib=(47.0, 50.0, 50.0),
    flood=Wrk(14_000, 13_900),
    seconds=2.0,
    capacity_rps=70,
)


def test_a_session_is_under_way_from_its_first_page_to_its_end():
    """A customer who waits for the first page is still a newcomer."""
    session = Session(began_s=1.0, ended_s=9.0, served=[(1.0, 2.0)])
    at = {time_s: session.is_under_way(time_s) for time_s in (2.0, 3.0, 8.0, 9.0)}
    assert at == {2.0: False, 3.0: True, 8.0: True, 9.0: False}
    assert not session.is_complete
    session.served = [(1.0, 2.0)] * len(PATHS)
    assert session.is_complete


def test_a_row_shows_values_without_and_with_the_flood():
    """The row has shares, capacity, the flood per second, p99 and memory."""
    calm = replace(SCORE, completed=50, newcomers_completed=99, used_ratio=0.9, p99_ms=60.0)
    console = Console(width=200)
    with console.capture() as captured:
        console.print(table({DOOR: [calm]}, {DOOR: [SCORE]}))
    row = next(line for line in captured.get().splitlines() if DOOR in line)
    assert [cell.strip() for cell in row.strip("│ ").split("│")] == [
        DOOR,
        *("1.00 → 0.98", "0.99 → 0.10", "0.90 → 0.98", "0.40", "6,950", "50", "100"),
        *("60 → 120", "47 → 50 → 50"),
    ]


@pytest.mark.parametrize(
    ("score", "reached"),
    [
        (SCORE, [True, True]),
        (replace(SCORE, completed=40), [False, True]),
        (replace(SCORE, memory_mib=(47.0, 50.0, 60.0)), [True, False]),
    ],
)
def test_the_aims_are_for_sessions_and_for_memory(score, reached):
    """Memory may grow when the flood begins, but not while it lasts."""
    assert [is_reached for _, is_reached in verdicts([score])] == reached


@needs("wrk", "haproxy", "nginx")
@pytest.mark.timeout(300)
def test_a_quick_run_floods_the_real_gateway():
    """The run prints one row for DOOR and a verdict for each target."""
    done = CliRunner().invoke(main, ["--quick"])
    assert done.exit_code == 0, done.output
    assert done.output.count(f"{DOOR}: ") == 2
    assert "a flood of 2 s" in done.output
