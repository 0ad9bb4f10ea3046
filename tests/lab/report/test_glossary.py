"""No term of the console is without an entry of the glossary."""

import re

import pytest

from gateway.policies import ADMISSIONS, NO_ADMISSION, POLICIES, registry
from gateway.policies.interface import PAGES
from lab.analysis.metrics import METRICS
from lab.baselines.sheets import PROXIES
from lab.report import glossary
from lab.wording import TITLES
from runtime.settings import REPOSITORY

CONSOLE = REPOSITORY / "lab/console"
ORDINARY = {
    # words that mean what they say, on any web page
    "account", "allowed", "begins in about", "busy machine", "by",
    "check", "choose", "ended", "events", "expected value", "experiment",
    "last login", "last login (utc)", "last use (utc)", "launches", "launches running", "look at",
    "launches waiting",
    "limit", "made", "made (utc)", "metric", "name", "name in the setting", "quiet machine",
    "result", "revoke", "role",
    "samples", "sent at, s", "signs in with", "state", "submitted", "takes about", "text", "took",
    "value",
    "version, machine", "when", "arrived at, s", "time, s", "reason for the place",
    "worker given to", "you use now", "your value",
}  # fmt: skip
_HEADS = re.compile(r"<(th scope=\"col\"[^>]*|dt)>([^<{]+)</")
SHEETS = (
    *map(registry.sheet, POLICIES),
    *(registry.admission_sheet(name) for name in ADMISSIONS if name != NO_ADMISSION),
    *(proxy.sheet for proxy in PROXIES.values()),
)
"""The data sheets of everything that an experiment may name."""


def heads() -> dict[str, str]:
    """Return each column head and name of a tile in the console's templates, with its file."""
    files = [*CONSOLE.rglob("*.html"), *CONSOLE.rglob("static/console/*.js")]
    return {
        head.strip(): path.name
        for path in files
        for _, head in _HEADS.findall(path.read_text(encoding="utf-8"))
        if head.strip() and "$" not in head
    }


def test_every_column_head_and_tile_has_an_entry() -> None:
    found = heads()
    assert len(found) > 40
    missing = {
        head: name
        for head, name in found.items()
        if glossary.key(head) not in ORDINARY and glossary.find(head) is None
    }
    assert missing == {}


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_every_metric_has_an_entry(metric) -> None:
    assert glossary.find(metric.title)


@pytest.mark.parametrize("title", sorted({*TITLES.values(), *(page.value for page in PAGES)}))
def test_every_policy_and_page_type_has_an_entry(title: str) -> None:
    assert glossary.find(title)


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.name)
def test_every_parameter_has_an_entry_with_its_meaning(sheet) -> None:
    for parameter in sheet.parameters:
        for label in (parameter.name, parameter.name.replace("_", " ").removesuffix(" s")):
            entry = glossary.find(label, is_parameter=True)
            assert entry, label
            assert entry.is_parameter
            assert parameter.meaning in entry.text


@pytest.mark.parametrize(
    "label", ["ρ = 1.4", "ρ = 1.4 SQ + SBAC hybrid", "AIMD, tuned", "  Bound "]
)
def test_labels_of_tables_lead_to_their_first_part(label: str) -> None:
    entry = glossary.find(label)
    assert entry
    assert entry.title in ("Offered load", "SQ", "AIMD", "Bound")


def test_a_label_that_is_no_term_has_no_entry() -> None:
    assert glossary.find("Nothing of the kind") is None
    assert glossary.find("") is None


def test_each_entry_has_a_place_and_a_name_of_its_own() -> None:
    entries = glossary.entries()
    assert len(entries) > 150
    anchors = [entry.anchor for entry in entries]
    assert len(set(anchors)) == len(anchors)
    names = [
        glossary.key(name)
        for entry in entries
        if not entry.is_parameter
        for name in dict.fromkeys(map(glossary.key, entry.names))
    ]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("entry", list(glossary.written()), ids=lambda entry: entry.anchor)
def test_an_entry_of_the_page_is_short(entry: glossary.Entry) -> None:
    assert 15 < len(entry.text) < 420
    assert 1 <= len(re.findall(r"\.(?= |$)", entry.text)) <= 3
