"""The page types are declared once; what cannot derive them agrees with the declaration."""

import re
from pathlib import Path

from common.page_types import BUSY_RATIO, CAPACITY_RPS, PAGE_TYPES
from gateway.http import pages
from gateway.policies.interface import TRANSACTION_PAGES, Page
from lab.analysis.published import published
from loadgen.defaults import LIFO_PRI_BUY_PROBABILITY
from loadgen.workload.chain import PAGES, Chain

REPOSITORY = Path(__file__).resolve().parent.parent
NAMES = {page.value: page.name.lower() for page in Page}
OTHER_NAMES = "main|start|category|select|book|item|address|pay|buy"
NAMED = re.compile(rf"\b([BT]r-\d) \(?({'|'.join(NAMES.values())}|{OTHER_NAMES})\b")


def documents() -> list[Path]:
    """Everything written for a reader, except what was decided or changed in the past."""
    docs = (REPOSITORY / "docs").rglob("*.md")
    return [
        *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md")),
        *(path for path in docs if "decisions" not in path.parts),
    ]


def test_the_gateway_has_the_page_types():
    """Policies import the standard library only, so their names stand there a second time."""
    assert {page.name: page.word for page in PAGE_TYPES} == NAMES
    assert [page.name for page in PAGE_TYPES if page.is_transaction] == list(TRANSACTION_PAGES)


def test_the_gateway_knows_a_page_by_its_address():
    rules = pages.load()
    for page in PAGE_TYPES:
        address = page.path.format(shelf="crime", book=7).encode()
        methods = (b"GET", b"HEAD", b"POST") if page.is_transaction else (b"GET", b"HEAD")
        assert {rules.page(method, address) for method in methods} == {page.name}
    assert {rule.page for rule in rules.rules} == {page.name for page in PAGE_TYPES}


def test_the_paper_printed_the_capacity_and_the_busy_share():
    """The gateway's shadows, the simulator and the shop use one capacity and one busy share."""
    lifo_pri = published()["lifo_pri"]
    assert lifo_pri["capacity_rps"] == CAPACITY_RPS
    assert lifo_pri["derived"]["busy_share"] == BUSY_RATIO


def test_customers_walk_over_the_page_types():
    assert list(PAGES) == [page.name for page in PAGE_TYPES]
    chain = Chain()
    assert all(chain.visits()[page.name] > 0 for page in PAGE_TYPES)
    assert chain.row("Br-4")["Tr-1"] == LIFO_PRI_BUY_PROBABILITY


def test_the_shops_page_lists_every_page_type_with_its_name():
    text = (REPOSITORY / "docs" / "shop.md").read_text(encoding="utf-8")
    assert dict(re.findall(r"^\| ([BT]r-\d) \| (\w+) \|", text, re.MULTILINE)) == NAMES


def test_documents_call_a_page_type_by_its_name():
    wrong = [
        f"{path.relative_to(REPOSITORY)}: {page} {name}; its name is {NAMES[page]}"
        for path in documents()
        for page, name in NAMED.findall(path.read_text(encoding="utf-8"))
        if name != NAMES[page]
    ]
    assert not wrong, "\n".join(wrong)
