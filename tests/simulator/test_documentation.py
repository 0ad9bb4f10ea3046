"""docs/simulator.md: its example runs."""

import re
from pathlib import Path

DOCUMENT = Path(__file__).parents[2] / "docs" / "simulator.md"


def test_the_example_runs(capsys):
    match = re.search(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert match is not None
    exec(match[1].replace("24_000", "300"), {})
    assert "'completed'" in capsys.readouterr().out
