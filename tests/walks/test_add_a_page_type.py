"""A page type is added with nine files, and the pages that `make pages` writes."""

import pytest

from tests.generated_pages import PAGES
from tests.walks import guide
from tests.walks.copies import ProjectCopy

pytestmark = pytest.mark.slow


EDITED_FILES = 9
LAST_BROWSING = {  # file: the text after which the guide's lines go
    "gateway/policies/interface.py": '    DETAILS = "Br-4"\n',
    "gateway/http/pages.toml": 'path = "/books/[0-9]+/"\n',
    "shop/urls.py": '    path("books/<int:book_id>/", browsing.details, name="details"),\n',
    "loadgen/customers/shop_pages.py": """        if page == "Br-4":
            return PageRequest("GET", self._rng.choice(self._books).decode("ascii"))
""",
    "docs/shop.md": (
        "| Br-4 | details | `GET /books/<id>/` | a book's details, with a *Buy* form |\n"
    ),
}
DECLARED = '    PageType("Br-4", "details", "/books/{book}/", 0.222, {"Tr-1": 0.1}),\n'
SIMULATED = ("--sessions", "300", "--repetitions", "1", "--rho", "2", "--processes", "1")
# Prints the type of the page that the shop serves at an address, and the cost it draws.
SHOP = """
import os
os.environ["DJANGO_SETTINGS_MODULE"] = "shop.settings"
import django
django.setup()
from django.urls import resolve
from shop.page_types import PAGE_TYPE_BY_URL_NAME
from shop.page_costs.page_work import Budget, PageWorkSettings
page = PAGE_TYPE_BY_URL_NAME[resolve("/books/7/reviews/").url_name]
print(page.name, Budget(PageWorkSettings()).draw(page).busy_s > 0)
"""


def added(copy: ProjectCopy) -> None:
    """Do what the guide says."""
    (line,) = guide.additions("common/page_types.py")
    leading = DECLARED.replace('{"Tr-1": 0.1}', '{"Br-5": 0.2, "Tr-1": 0.1}')
    copy.replace("common/page_types.py", DECLARED, leading + line)
    for path, after in LAST_BROWSING.items():
        (lines,) = guide.additions(path)
        copy.replace(path, after, after + lines)
    (view,) = guide.additions("shop/views/browsing.py")
    copy.append("shop/views/browsing.py", view)
    copy.take("shop/templates/")
    copy.replace("gateway/policies/eight_queues.py", "36.0, 73.0,", "36.0, 73.0, 80.0,")
    copy.make_pages()


def test_a_page_type_takes_nine_files(copy: ProjectCopy) -> None:
    """The gateway, the shop, the customers and the simulator have it."""
    added(copy)
    edited = copy.touched() - set(PAGES)
    assert len(edited) == EDITED_FILES, edited
    assert copy.python("-c", SHOP).split() == ["Br-5", "True"]
    described = copy.python("-m", "loadgen", "describe")
    assert "Br-5" in described
    said = copy.doorbuster("simulate", "--policies", "sq,8q-lifo-pri", *SIMULATED)
    assert "Counts reconcile in all 2 runs" in said
    copy.tests("tests/test_page_types.py", "tests/lab/cli/test_policy_sheets.py")
