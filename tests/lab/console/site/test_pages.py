"""Every page, and what it may load."""

import hashlib
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from lab.console import pages
from lab.spec.experiment import SPECS
from runtime.docs_site import SITE
from runtime.settings import REPOSITORY

VENDOR = REPOSITORY / "lab/console/site/static/console/vendor"
PAGES = ("/", "/watch/", "/launches/", "/results/", "/race/", "/leaderboard/", "/scoreboard/",
         "/launch/lifo-pri/")  # fmt: skip


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_whole_and_loads_nothing_from_outside(console, path):
    answer = console.get(path)
    assert answer.status_code == 200
    assert "<h1" in answer.text
    marked = re.findall(r'<a href="([^"]+)" aria-current="(page|true)"', answer.text)
    page = pages.page_of(path)
    assert marked == [(page, "page" if path == page else "true")]
    assert 'lang="en"' in answer.text
    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
    shop = f"http://{urlsplit(console.url('/')).hostname}:"  # which one may visit
    for address in re.findall(r'(?:src|href)="([^"]+)"', answer.text):
        assert address.startswith(("/", "#", shop)), address
        if address.startswith("/static/"):
            assert console.get(address).status_code == 200, address


@pytest.mark.parametrize(
    "path", ["/nothing", "/results/../etc", "/results/nothing/", "/race/?result=x"]
)
def test_what_is_not_there_says_so(console, path):
    answer = console.get(path)
    assert answer.status_code == 404
    assert "This page does not exist" in answer.text


def test_the_libraries_that_come_along_are_the_published_ones():
    for line in (VENDOR / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split()
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest


def test_the_first_page_says_where_to_begin(console):
    text = console.get("/").text
    start = text[: text.index('id="experiments"')]
    assert "Start lesson 1" in start
    for door in ("Lessons", "Experiments", "Own policies", "Results"):
        assert f"<strong>{door}</strong>" in start
    leads_to = re.findall(r'href="(/(?!static)[^"]*)"', start[start.index('class="start"') :])
    assert len(leads_to) >= 8
    for address in leads_to:
        if address.startswith("/docs/") and not (SITE / "index.html").is_file():
            assert "make docs" in console.get(address).text
            continue
        assert console.get(address).status_code == 200, address


def test_experiments_are_listed_by_question(console):
    text = console.get("/").text
    headings = re.findall(r'<h3 id="question-\d+">([^<]+)</h3>', text)
    assert headings[:2] == ["Who should be served first?", "Who should be let in?"]
    assert len(set(headings)) == len(headings)
    assert all(heading.endswith("?") for heading in headings)
    assert "· LIFO-Pri</p>" in text


def test_every_spec_that_comes_along_is_in_the_gallery(console):
    text = console.get("/").text
    for spec in SPECS.glob("*.toml"):
        assert f"/launch/{spec.stem}/" in text


@pytest.mark.parametrize("page", ["/", "/launch/leaderboard/", "/launch/door-ablation/"])
def test_every_card_has_its_picture(console, page):
    found = re.findall(r'<img src="([^"]+\.svg)"', console.get(page).text)
    assert found
    for picture in found:
        assert "</svg>" in console.get(picture).text


def test_what_is_switched_on_and_off_says_what_either_does(console):
    text = console.get("/watch/policy/fields?policy=door-lifo&admission=none").text
    assert (
        "1: the request of a new session is taken out of the queue when its customer leaves" in text
    )
    assert "requests, 1 to 1,000" in text


def test_a_gateway_that_is_away_is_told(console):
    with console.session.get(console.url("/watch/stream"), stream=True, timeout=240) as answer:
        assert answer.headers["Content-Type"] == "text/event-stream"
        lines = answer.iter_lines(decode_unicode=True)
        assert any("does not answer" in line for line in lines)


def test_a_post_without_token_is_refused(console):
    import requests

    assert requests.post(console.url("/upload/"), timeout=240).status_code == 403


def test_pictures_of_what_was_published_are_as_the_figures_are(tmp_path):
    from lab.console.gallery import published_pictures

    for path in published_pictures.draw_all(tmp_path):
        kept = published_pictures.FOLDER / path.name
        assert _numbers(path) == _numbers(kept), (
            f"{kept}: python -m lab.console.gallery.published_pictures"
        )


def _numbers(path: Path) -> list[str]:
    """The words in a picture: coordinates depend on the fonts there are."""
    return re.findall(r"<text[^>]*>([^<]+)</text>", path.read_text())


@pytest.mark.parametrize(
    ("path", "sent", "wrong", "said"),
    [
        ("/launch/lifo-pri/", {"rho": "x", "sessions": "-1"}, 4, ""),
        ("/race/", {"rho": "x"}, 4, ""),
        ("/watch/policy", {"policy": "lifo"}, 1, "Policy: choose an entry of the list"),
        ("/watch/policy", {"policy": "sq", "admission": "x", "capacity": "0"}, 2,
         "Session admission: choose an entry of the list"),
        ("/watch/policy", {"policy": "sq", "capacity": "many"}, 1,
         "capacity: must be a whole number from 1"),
        ("/watch/policy", {"policy": "8q-af", "utility.Br-2": "-1"}, 1,
         "Br-2: must be a number from"),
        ("/watch/policy", {"policy": "8q-lifo-pri", "cpu_upper_threshold": "0.9"}, 1,
         "cpu lower threshold: 0.95 is above cpu upper threshold 0.9; allowed: at most 0.9"),
        ("/watch/shadow", {"policy": "x", "admission": "sbac", "admission.ac_weight": "2"}, 2,
         "ac weight: must be a number from"),
        ("/watch/abandonment", {"abandonment": "x"}, 1,
         "When a customer leaves: choose an entry of the list"),
        ("/watch/load", {"load_factor": "11"}, 1, "Load factor: must be a number from 0 to 10"),
        ("/watch/load", {"load_factor": "nan"}, 1, "Load factor: must be a number from 0 to 10"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_field(console, path, sent, wrong, said):
    text = console.post(path, sent).text
    told = described(text)
    assert sum(one.endswith("_error") for one in told) >= wrong, told
    assert said in text
    assert "Applied at " not in text


def described(text: str) -> set[str]:
    """The ids by which parts of a page are described; each is of one element."""
    ids = re.findall(r'\sid="([^"]*)"', text)
    assert len(ids) == len(set(ids)), sorted(id for id in ids if ids.count(id) > 1)
    found = {id for one in re.findall(r'aria-describedby="([^"]*)"', text) for id in one.split()}
    assert found <= set(ids)
    return found
