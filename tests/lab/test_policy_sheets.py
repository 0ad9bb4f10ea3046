from pathlib import Path

from gateway.policies.registry import POLICIES
from lab.experiments.policy_sheets import as_markdown, as_text, sheets

PAGE = Path(__file__).parents[2] / "docs/policies.md"


def test_the_page_is_what_the_code_says():
    mend = ".venv/bin/doorbuster policies --markdown > docs/policies.md"
    assert PAGE.read_text(encoding="utf-8") == as_markdown(sheets()), mend


def test_every_policy_and_parameter_is_shown():
    text = as_text(sheets())
    for name, (sheet, _) in POLICIES.items():
        assert f"\n{name}\n" in f"\n{text}"
        for parameter in sheet.parameters:
            assert parameter.name in text
