"""The options: their defaults, and one line for whatever is refused."""

import math
from pathlib import Path

import pytest

from loadgen.option_list import OPTIONS
from loadgen.option_text import OptionError
from loadgen.options import ClosedLoop, Part, run_options
from loadgen.sessions import SessionModel

DOCUMENT = Path(__file__).parents[2] / "docs" / "loadgen.md"


def test_defaults_are_the_papers() -> None:
    options = run_options({})
    assert options.model == SessionModel()
    assert options.rho == 0.85
    assert options.session_rate == pytest.approx(0.85 * 5.6 / 2.397243)
    assert options.closed_loop is None


def test_a_session_rate_is_given_directly_or_by_rho() -> None:
    assert run_options({"session_rate": "3.5"}).session_rate == 3.5
    by_rho = run_options({"rho": "2", "capacity_rps": "10"})
    assert by_rho.session_rate == pytest.approx(20 / 2.397243)


def test_a_closed_loop_has_customers_who_never_leave_nor_pause() -> None:
    options = run_options(
        {
            "closed_loop_customers": "30",
            "closed_loop_duration": "60",
            "closed_loop_warm_up": "5",
            "think_time_mean_s": "7",
        }
    )
    assert options.closed_loop == ClosedLoop(30, 60, 5)
    assert options.model.timeout_s == math.inf
    assert options.model.think_time_mean_s == 0
    assert options.part_of_plan(Part(0, 4)) == 8


@pytest.mark.parametrize(("total", "of"), [(10, 3), (2, 5), (1000, 1), (7, 7)])
def test_parts_are_the_whole(total: int, of: int) -> None:
    assert sum(Part(index, of).count(total) for index in range(of)) == total


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"rho": "much"}, "--rho: 'much' is no number"),
        ({"rho": "0"}, "--rho: 0 is out of range; give a number above 0"),
        ({"rho": "nan"}, "--rho: nan is out of range; give a number above 0"),
        ({"rho": "1", "session_rate": "1"}, "--rho: give either --rho or --session-rate, not both"),
        ({"session_rate": "-1"}, "--session-rate: -1 is out of range; give a number above 0"),
        ({"capacity_rps": "inf"}, "--capacity-rps: inf is out of range; give a number above 0"),
        ({"sessions": "1.5"}, "--sessions: '1.5' is no whole number"),
        ({"sessions": "0"}, "--sessions: 0 is out of range; give 1 or more"),
        ({"seed": "-1"}, "--seed: -1 is out of range; give 0 or more"),
        ({"time_scale": "0"}, "--time-scale: 0 is out of range; give a number above 0"),
        ({"timeout_s": "-8"}, "--timeout-s: -8 is out of range; give a number of at least 0"),
        ({"retry_probability": "1.5"}, "--retry-probability: 1.5 is no probability; give 0 to 1"),
        ({"max_retries": "900"}, "--max-retries: 900 is out of range; give 0 to 200"),
        ({"walks": "random"}, "--walks: 'random' is unknown; give quota or chance"),
        ({"progress": "xml"}, "--progress: 'xml' is unknown; give none or json"),
        ({"closed_loop_duration": "0"}, "--closed-loop-duration: 0 is out of range"),
        ({"attempts_file": "/nowhere/a.parquet"}, "--attempts-file: there is no folder /nowhere"),
        ({"attempts_file": "/"}, "--attempts-file: / is a folder"),
        ({"account": "customer"}, "--account: 'customer' has no place for a number"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(given: dict[str, str], line: str) -> None:
    with pytest.raises(OptionError) as refusal:
        run_options(given)
    assert str(refusal.value).startswith(line)
    assert "\n" not in str(refusal.value)
    assert refusal.value.option == line.partition(":")[0]


def test_the_document_lists_every_option_with_its_default() -> None:
    rows = [
        [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        for line in DOCUMENT.read_text(encoding="utf-8").splitlines()
        if line.startswith("| `--")
    ]
    listed = {row[0]: (row[1], row[2]) for row in rows}
    assert listed == {option.flag: (option.variable, option.default) for option in OPTIONS}
