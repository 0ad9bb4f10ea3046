"""A page of the console is added with a folder and a line of the registry."""

import pytest

from tests.walks import guide
from tests.walks.copies import ProjectCopy

pytestmark = pytest.mark.slow


FOLDER = "lab/console/policies"
REGISTRY = "lab/console/pages.py"


def test_a_page_takes_a_folder_and_a_line(copy: ProjectCopy) -> None:
    """It is served with its style, and the navigation marks it."""
    copy.take(FOLDER)
    (line,) = guide.additions(REGISTRY)
    before = '    Page("race", "/race/", "Race"),\n'
    copy.replace(REGISTRY, before, before + line)
    files = ("__init__.py", "views.py", "README.md")
    folders = ("templates/console/policies.html", "static/console/policies.css")
    assert copy.touched() == {REGISTRY, *(f"{FOLDER}/{name}" for name in (*files, *folders))}
    page = copy.pages("/policies/")
    assert "<dt>8Q-LIFO-Pri</dt>" in page
    assert '<a href="/policies/" aria-current="page">Policies</a>' in page
    found = copy.python("-m", "django", "findstatic", "console/policies.css", "--first")
    assert f"{FOLDER}/static/console/policies.css" in found
    copy.tests("tests/lab/test_readmes.py")
