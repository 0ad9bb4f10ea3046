"""The gateway's benchmark: reading wrk, the table's ratios, the message about a missing tool."""

import pytest
from click import ClickException
from rich.console import Console

from bench.gateway import Score, rate_and_p99, table

WRK = """Running 1s test @ http://127.0.0.1:1/
  Latency Distribution
     50%    1.20ms
     99%    2.64ms
  1000 requests in 1.00s, 1.20MB read
Requests/sec:   1234.56
"""


@pytest.mark.parametrize("fault", ["  Non-2xx or 3xx responses: 3\n", "  Socket errors: read 1\n"])
def test_a_measurement_with_faults_is_none(fault):
    with pytest.raises(ClickException):
        rate_and_p99(WRK + fault)


def test_ratios_are_taken_within_a_round():
    scores = {
        "HAProxy": [Score(100, 1, 1), Score(200, 1, 1), Score(400, 1, 1)],
        "gateway": [Score(50, 1, 0.5), Score(120, 1, 0.5), Score(160, 1, 0.5)],
    }
    console = Console(width=120, record=True, quiet=False, file=None)
    with console.capture() as captured:
        console.print(table(scores))
    row = next(line for line in captured.get().splitlines() if "gateway" in line)
    cells = [cell.strip() for cell in row.strip("│ ").split("│")]
    assert cells == ["gateway", "120", "1.00", "0.50", "0.40–0.60", "50%", "240"]
