"""Reference results in a console without results, and next to one of the console's results."""

import html
import json
import re

import pytest

from lab.cli.reference_results import PARTS
from lab.results.reference import TITLE

pytestmark = pytest.mark.slow


RACE = "reference-race"
NAVIGATION = {
    "/": "LIFO-Pri",
    "/results/": TITLE,
    "/leaderboard/": "Best at each load",
    "/leaderboard/#robustness": "Robustness: unusual customers, loads and servers",
    "/leaderboard/#hysteresis": "Hysteresis: the collapse that stays",
    "/scoreboard/": "DOOR-LIFO",
    "/race/": TITLE,
    f"/race/?result={RACE}": "Leading: ",
    f"/results/{RACE}/attempts": "Why was a request served",
    f"/results/overlay?of={RACE}&of=reference-leaderboard": "overlaid",
}
"""Pages and what stands on them before anything has been launched."""


@pytest.mark.parametrize("path", NAVIGATION)
def test_no_page_is_empty_on_the_first_day(console, path):
    page = html.unescape(console.get(path).text)
    assert NAVIGATION[path] in page


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_a_reference_says_how_it_was_made_and_its_links_work(console, part):
    path = f"/results/{part.folder.name}/"
    page = html.unescape(console.get(path).text)
    mark = json.loads((part.folder / "reference.json").read_text())
    assert TITLE in page
    assert "damaged" not in page
    for known in (mark["command"], mark["version"], mark["machine"]):
        assert known in page
    links = set(re.findall(rf'(?:href|src)="({path}[^"#]*)"', page)) - {path}
    assert links
    for link in links:
        answer = console.get(link, stream=True)
        assert answer.status_code == 200, link
        answer.close()


def test_a_reference_cannot_be_deleted(console):
    assert "Delete" not in console.get(f"/results/{RACE}/").text
    assert console.get(f"/results/{RACE}/delete").status_code == 403
    refused = console.post(f"/results/{RACE}/delete")
    assert refused.status_code == 403
    assert "comes with Doorbuster" in refused.text
    assert console.get(f"/results/{RACE}/").status_code == 200


def test_every_reference_has_a_verdict(console):
    listed = html.unescape(console.get("/results/").text).partition('id="reference"')[2]
    for part in PARTS:
        name = part.folder.name
        assert '<section class="verdict"' in console.get(f"/results/{name}/").text, name
        row = listed.partition(f'value="{name}"')[2].partition("</tr>")[0]
        winner = re.findall(r"<td[^>]*>(.*?)</td>", row.partition("</th>")[2])[2]
        assert winner not in ("", "–"), name


def test_an_own_result_is_drawn_over_the_reference(console):
    """An own comparison offers the reference; both have curves; the list keeps them apart."""
    launch = console.launch("Mine against the released one", sessions=120)
    console.wait_until(launch, "done")
    own = console.result_of(launch)
    page = html.unescape(console.get(f"/results/{own}/").text)
    assert f"/results/overlay?of={own}&of={RACE}" in page
    over = html.unescape(console.get(f"/results/overlay?of={own}&of={RACE}").text)
    assert "2 results overlaid" in over
    assert TITLE in over
    for name in (own, RACE, "reference-leaderboard"):
        curves = console.get(f"/results/{name}/curves.json").json()
        assert {"sq", "8q-lifo-pri"} <= {line["policy"] for line in curves["lines"]}
    listed = console.get("/results/").text
    assert listed.index(own) < listed.index('id="reference"') < listed.index(RACE)


def test_reports_of_one_paper_are_drawn_over_each_other(console):
    """An own report stands next to the reference: claims side by side, panels in one figure."""
    part = next(part for part in PARTS if part.name == "connection-sentry")
    own = console.results / "20260101T000000Z-reproduce-connection-sentry"
    (own / "figures").mkdir(parents=True)
    for name in ("reproduction.json", "claims.json", "exhibits.json"):
        (own / name).write_bytes((part.folder / name).read_bytes())
    for path in (part.folder / "figures").glob("*.csv"):
        (own / "figures" / path.name).write_bytes(path.read_bytes())
    assert part.folder.name in console.get(f"/results/{own.name}/").text
    page = html.unescape(console.get(f"/results/overlay?of={own.name}&of={part.folder.name}").text)
    assert "2 reports overlaid" in page
    claim = json.loads((own / "claims.json").read_text())[0]
    assert page.count(claim["Found"]) >= 2
    panels = re.findall(r'data-figure="[^"]+"></div><script[^>]*>(.*?)</script>', page)
    lines = [line for text in panels for one in json.loads(text) for line in one["lines"].values()]
    assert {line["report"] for line in lines} == {0, 1}
    other = console.get(f"/results/overlay?of={own.name}&of=reference-hysteresis").text
    assert "reports of different papers" in html.unescape(other)
