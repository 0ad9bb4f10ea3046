"""The console serves the documentation site that was built, and explains how if it was not."""

from pathlib import Path
from typing import Any

import pytest

from runtime import docs_site
from tests.lab.console.programs import told

BEGIN = """
import asyncio
from pathlib import Path
from django.contrib.auth.models import User
from django.test import Client
from lab.console.documentation import views

views.SITE = Path({site!r})
client = Client()

async def read(found):
    return b"".join([piece async for piece in found.streaming_content])

def answer(address):
    found = client.get(address, secure=True)
    text = asyncio.run(read(found)) if found.streaming else found.content
    return [found.status_code, found.headers.get("Content-Type"), text.decode()]
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site with a page, a page of answers and a script; a secret lies next to it."""
    folder = tmp_path / "site"
    (folder / "labs").mkdir(parents=True)
    (folder / "index.html").write_text("<h1>All pages</h1>")
    (folder / "labs/instructor.html").write_text("<h1>Answers</h1>")
    (folder / "searchindex.js").write_text("Search.setIndex({})")
    (tmp_path / "secret").write_text("secret")
    return folder


def asked(tmp_path: Path, site: Path, program: str, **settings: str) -> Any:
    begin = "from django.conf import settings\n" + BEGIN.format(site=str(site))
    return told(tmp_path, begin + program, **settings)


def test_files_of_the_site_are_served(tmp_path: Path, site: Path) -> None:
    program = """
paths = ["", "index.html", "searchindex.js", "labs/instructor.html"]
paths += ["no.html", "n" * 300, "%2e%2e/secret"]
print(json.dumps([answer("/docs/" + path) for path in paths]))
"""
    first, same, script, answers, nothing, too_long, secret = asked(tmp_path, site, program)
    assert first == same == [200, "text/html", "<h1>All pages</h1>"]
    assert script[0] == 200
    assert "javascript" in script[1]
    assert answers[2] == "<h1>Answers</h1>"
    assert nothing[0] == too_long[0] == 404
    assert secret[0] in (400, 404)


def test_without_a_site_the_page_names_the_command(tmp_path: Path) -> None:
    program = 'print(json.dumps([answer("/docs/"), answer("/docs/glossary.html")]))'
    for status, _, text in asked(tmp_path, tmp_path / "missing", program):
        assert status == 404
        assert "<pre>make docs</pre>" in text


def test_answers_are_for_teachers_if_people_have_accounts(tmp_path: Path, site: Path) -> None:
    program = """
pages = ["/docs/", "/docs/labs/instructor.html", "/docs/labs//instructor.html",
         "/docs//labs/instructor.html", "/docs///labs/instructor.html"]
seen = [[answer(page)[0] for page in pages]]
for name, is_staff in (("bert", False), ("anna", True)):
    client.force_login(User.objects.create(username=name, is_staff=is_staff))
    seen.append([answer(page)[0] for page in pages])
print(json.dumps(seen))
"""
    stranger, student, teacher = asked(tmp_path, site, program, DOORBUSTER_LAB_ACCOUNTS="1")
    assert stranger == [200, 302, 404, 404, 404]
    assert student == [200, 403, 404, 404, 404]
    assert teacher == [200, 200, 404, 404, 404]


@pytest.mark.browser
@pytest.mark.timeout(600)
def test_links_to_the_default_address_lead_to_this_console(console: Any, chromium: Any) -> None:
    """On a class server, the default address is a student's machine."""
    docs_site.build(if_stale=True)
    page = chromium.new_page()
    page.goto(console.url("/docs/labs/02-lifo-pri.html"), timeout=120_000)
    links = page.eval_on_selector_all("a[href]", "all => all.map(one => one.href)")
    race = "/playground/?policy-a=always-fifo&policy-b=always-lifo&rho=1.2&sessions=3000"
    assert {console.url("/results/"), console.url(race)} <= set(links)
    assert not [one for one in links if one.startswith("http://127.0.0.1:8087/")]
    page.close()
