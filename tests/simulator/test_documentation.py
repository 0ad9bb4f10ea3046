"""docs/simulator.md: its examples run."""

import re
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).parents[2] / "docs" / "simulator.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize(
    ("example", "smaller", "printed"),
    [
        (EXAMPLES[0], ("24_000", "300"), r"\{'completed': \d+, .*\} \d+ 0\.\d+"),
        (EXAMPLES[1], ("1800", "300"), r"\d+ \d+ 0\.0"),
        (EXAMPLES[2], ("600", "60"), r"([0-3]\.\d+ \d+\.\d+ \d+\s*){2}"),
    ],
    ids=["sessions", "clients", "platform"],
)
def test_the_example_runs(example, smaller, printed, capsys):
    assert smaller[0] in example
    exec(example.replace(*smaller), {})
    assert re.fullmatch(printed, capsys.readouterr().out.strip())


def test_there_are_no_other_examples():
    assert len(EXAMPLES) == 3
