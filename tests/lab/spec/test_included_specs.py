"""docs/experiments.md lists every included spec with its engine."""

import re
import tomllib

from runtime.settings import REPOSITORY

SPECS = REPOSITORY / "lab" / "spec" / "specs"
PAGE = REPOSITORY / "docs" / "experiments.md"


def test_the_page_lists_each_included_spec_with_its_engine() -> None:
    rows = re.findall(r"^\| `([a-z-]+)`[^|]* \| (\w+) \|", PAGE.read_text(encoding="utf-8"), re.M)
    included = {
        path.stem: tomllib.loads(path.read_text(encoding="utf-8"))["engine"]
        for path in SPECS.glob("*.toml")
    }
    assert len(rows) == len(included)
    assert dict(rows) == included
