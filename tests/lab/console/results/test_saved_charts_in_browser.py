"""Charts saved as they are on the screen, as SVG and as PNG, by keyboard."""

import struct
from xml.etree import ElementTree

import pytest

from tests.lab.console.browsing import choose, press, when
from tests.lab.console.conftest import visiting

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

SVG = "{http://www.w3.org/2000/svg}"
COMPARISON = "/results/reference-comparison/"


def saved(page, chart, kind):
    """Press the button of a chart; return the file's name and content."""
    with page.expect_download() as download:
        press(page, f"figure:has(#{chart}) .save-chart button:text('{kind}')")
    return download.value.suggested_filename, download.value.path().read_bytes()


def lines_of(content):
    """Return all texts of an SVG."""
    return [one.text or "" for one in ElementTree.fromstring(content).iter(f"{SVG}text")]


def words(content):
    """Return all texts of an SVG in one."""
    return " ".join(lines_of(content))


def test_a_curve_is_saved_as_it_is_seen(chromium, console):
    with visiting(chromium, console) as visit:
        page = visit(COMPARISON)
        page.wait_for_selector("#curves-charts canvas")
        choose(page, "#page", "Tr-4")
        press(page, "#lines input", "Space")
        when(page, "location.search.includes('hide=')")
        name, content = saved(page, "above", "SVG")
        assert name.startswith("lifo-pri-tables-4-and-5-simulated-reference-unanswered-tr-4-rho-2")
        assert name.endswith(".svg")
        text = words(content)
        assert "Share of attempts still unanswered after t seconds" in text
        assert "reference-comparison" in text
        assert "8Q-LIFO-Pri" in text
        assert "SQ" not in lines_of(content)
        drawing = ElementTree.fromstring(content)
        assert drawing.find(f"{SVG}title").text.startswith("Share of attempts")
        assert not any("href" in key for one in drawing.iter() for key in one.attrib)
        name, content = saved(page, "against-rho", "PNG")
        assert name.endswith("-against-load.png")
        assert content.startswith(b"\x89PNG\r\n")
        width, height = struct.unpack(">II", content[16:24])
        assert width > 600
        assert height > 500


def test_a_chart_of_a_race_is_saved(chromium, console):
    with visiting(chromium, console) as visit:
        page = visit("/race/?result=reference-race", reduced_motion="reduce")
        page.wait_for_selector(".race-runs[data-ready]")
        page.locator("#time").focus()
        page.keyboard.press("End")
        name, content = saved(page, "chart-confirms", "SVG")
        assert name == "a-small-rush-one-queue-eight-queues-door-rho-1.4-seed-1-confirms.svg"
        assert "DOOR-LIFO" in words(content)
        assert "paper seconds" in words(content)


def test_panels_of_reports_are_saved(chromium, console):
    with visiting(chromium, console) as visit:
        page = visit("/results/overlay?of=reference-lifo-pri")
        page.wait_for_selector("[data-figure] .uplot")
        assert page.locator(".save-chart").count() == page.locator("[data-figure] .uplot").count()
        with page.expect_download() as download:
            press(page, ".save-chart button:text('SVG')")
        assert "A: LIFO-Pri, reproduced" in words(download.value.path().read_bytes())
