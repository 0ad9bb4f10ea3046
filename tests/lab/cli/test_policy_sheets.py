import json
import re

from click.testing import CliRunner

from doorbuster.commands import main
from gateway.policies import ADMISSIONS, POLICIES, registry
from lab.baselines.sheets import PROXIES
from lab.cli.policy_sheets import as_markdown, as_text, sheets


def test_every_policy_and_parameter_is_shown():
    text = as_text(sheets())
    own = (*map(registry.sheet, POLICIES), *map(registry.admission_sheet, ADMISSIONS))
    for sheet in (*own, *(proxy.sheet for proxy in PROXIES.values())):
        assert f"\n{sheet.name}\n" in text
        for parameter in sheet.parameters:
            assert parameter.name in text


def test_admission_policies_have_a_section_of_their_own():
    whole, proxies = as_markdown(sheets()).split("\n## Baseline proxies in place of the gateway\n")
    queueing, admission = whole.split("\n## Admission policies\n")
    assert "## Queueing policies" in queueing
    assert all(f"\n### {name}\n" in queueing for name in POLICIES)
    assert all(f"\n### {name}\n" in admission for name in ADMISSIONS)
    assert all(f"\n### {name}\n" in proxies for name in PROXIES)


def test_a_page_names_the_parameters_of_a_policy_and_describes_each_once():
    for section in sheets():
        parts = as_markdown([section]).split("\n### ")[1:]
        for sheet, part in zip(section.sheets, parts, strict=True):
            assert all(f"`{parameter.name}`" in part for parameter in sheet.parameters)
    page = as_markdown(sheets())
    [shared] = re.findall(r"\n### 8q-lifo-pri\n(.+?)\n### ", page, re.DOTALL)
    assert "- As in [8q-af](#8q-af): `browsing_capacity` (50 requests)" in shared
    assert "maximum length of each queue" not in shared


def test_a_program_gets_every_policy() -> None:
    done = CliRunner().invoke(main, ["policy", "list", "--json"])
    assert done.exit_code == 0, done.output
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert {*POLICIES, *ADMISSIONS, *PROXIES} <= rows.keys()
    (first, *_) = rows["sq"]["parameters"]
    assert {"name", "default", "unit", "allowed", "meaning"} <= first.keys()
