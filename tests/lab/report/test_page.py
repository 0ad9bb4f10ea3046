import csv
import io
import re
from html.parser import HTMLParser

import pytest

from lab.files.documents import read_json
from lab.report.page import write_report
from lab.results.study import StudyResult, plan
from lab.studies.measures import simulate_case
from tests.lab.studies.small import small_study


class Page(HTMLParser):
    """Ids, links, images, headings and table captions of a page."""

    VOID = ("meta", "img", "br", "link")

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.images, self.open, self.captions = [], [], [], [], 0
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        if "id" in named:
            self.ids.append(named["id"])
        if tag == "a":
            self.links.append(named["href"])
        if tag == "img":
            self.images.append(named)
        self.captions += tag == "caption"
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """The page of the small study, its store and its text."""
    study = small_study()
    store = StudyResult.create(tmp_path_factory.mktemp("report"), "small", {})
    simulations = plan(study.figures[0].cases(), seed=1, repetitions=2)
    for simulation in simulations:
        task = {"case": simulation.case.as_json(), "seed": simulation.seed}
        store.keep(simulation, simulate_case(task))
    results = store.results(simulations)
    path = write_report(study, results, store, [("Command", "doorbuster <&>")], "one is missing")
    return Page(path.read_text()), store, path.read_text(), results


def test_the_page_is_well_formed_and_every_reference_leads_somewhere(reported):
    page, store, text, _ = reported
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    for link in page.links:
        if link.startswith("#"):
            assert link[1:] in page.ids
        else:
            assert (store.path / link).is_file()
    labelled = re.findall(r'aria-labelledby="([^"]+)"', text)
    assert set(labelled) <= set(page.ids)


def test_the_page_needs_nothing_from_elsewhere(reported):
    page, _, text, _ = reported
    assert "http" not in re.sub(r"data:image[^\"]+", "", text)
    assert "<script" not in text
    assert all(image["src"].startswith("data:image/svg+xml;base64,") for image in page.images)


def test_every_figure_has_words_for_those_who_do_not_see_it(reported):
    page, _, text, _ = reported
    assert len(page.images) == 1
    assert "1a: completed" in page.images[0]["alt"]
    assert "1b: aborted" in page.images[0]["alt"]
    assert page.captions == text.count("<table")  # claims, and the numbers of each panel
    assert page.captions == 3


def test_figures_are_files_with_their_data(reported):
    _, store, text, results = reported
    for suffix in ("png", "svg", "csv"):
        assert (store.figures / f"figure-1.{suffix}").stat().st_size > 0
    rows = list(csv.DictReader(io.StringIO((store.figures / "figure-1.csv").read_text())))
    assert [(row["panel"], row["x"]) for row in rows] == [
        ("1a", "30"),
        ("1a", "200"),
        ("1b", "200"),
    ]
    assert rows[1]["published"] == "44.5"
    assert rows[0]["published"] == ""
    case = small_study().figures[0].panels[0].curves[0].points[1][1]
    found = results.estimate(case, lambda m: 100 * m["completed"] / m["sessions"])
    assert float(rows[1]["mean"]) == pytest.approx(found.mean, rel=1e-4)
    assert float(rows[1]["half_width_95"]) == pytest.approx(found.half_width, rel=1e-4)
    assert '<span class="unseen">published </span>44.5</span>' in text
    assert f'<span class="unseen">here </span>{found.mean:.1f} ± {found.half_width:.1f}<' in text


def test_claims_are_written_beside_what_was_found(reported):
    _, store, text, _ = reported
    first, second = read_json(store.path / "claims.json")
    assert first["Holds"] == "yes", first
    assert second == {
        "Claim": "Of another case",
        "Required": "anything",
        "Found": "no runs yet",
        "Holds": "not decided",
    }
    assert "1 of 2 claims hold, 1 could not be decided" in text
