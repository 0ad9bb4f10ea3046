"""The eight page types have one name each, in code, pages and documents."""

import re
from pathlib import Path

from gateway.policies.interface import Page
from loadgen.chain import PAGES
from shop.page_types import PAGE_TYPES

REPOSITORY = Path(__file__).resolve().parent.parent
NAMES = {page.value: page.name.lower() for page in Page}
OTHER_NAMES = "main|start|category|select|book|item|address|pay|buy"
NAMED = re.compile(rf"\b([BT]r-[1-4]) \(?({'|'.join(NAMES.values())}|{OTHER_NAMES})\b")


def documents() -> list[Path]:
    """Everything written for a reader, except what was decided or changed in the past."""
    docs = (REPOSITORY / "docs").rglob("*.md")
    return [
        *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md")),
        *(path for path in docs if "decisions" not in path.parts),
    ]


def test_shop_and_customers_have_the_page_types_of_the_gateway():
    assert list(PAGES) == list(NAMES)
    assert {page.name: page.url_name.removeprefix("checkout-") for page in PAGE_TYPES} == NAMES


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
