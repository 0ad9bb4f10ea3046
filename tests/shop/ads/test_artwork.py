"""Banners are well-formed, keep to their size, and show what they advertise."""

import shutil
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shop.ads.artwork import banner_svg, wording
from shop.ads.inventory import SIZES

SVG = "{http://www.w3.org/2000/svg}"
printable = st.text(st.characters(categories=("L", "N", "P", "S", "Zs")), min_size=1)


@given(st.integers(1, 10**9), st.sampled_from(sorted(SIZES)), printable, printable, printable)
def test_every_banner_is_well_formed_and_of_its_size(id, size, headline, text, advertiser):
    root = ElementTree.fromstring(banner_svg(id, size, headline[:40], text[:60], advertiser[:80]))
    width, height = SIZES[size]
    assert root.get("viewBox") == f"0 0 {width} {height}"
    assert headline[:40] in root.findtext(f"{SVG}title")
    assert root.find(f".//{SVG}script") is None


def test_the_same_banner_looks_the_same_every_time():
    drawn = {banner_svg(7, "468x60", "A lamp", "For long evenings.", "Lamps") for _ in range(3)}
    assert len(drawn) == 1


def test_markup_in_a_headline_is_text():
    svg = banner_svg(1, "468x60", "<script>x</script>", "&", "<b>")
    assert "<script" not in svg


@pytest.mark.browser
@pytest.mark.timeout(180)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("headline", "text"),
    [("W" * 40, "M" * 60), ("Nature & gardening, hand-picked", "Signed copies."), ("Wow", "")],
)
def test_all_words_stay_inside(size, headline, text):
    from playwright.sync_api import sync_playwright

    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    if executable is None:
        pytest.fail("no Chromium; install it: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_content(banner_svg(3, size, headline, text, "Lamps & Sons"))
        boxes = page.evaluate(
            "[...document.querySelectorAll('svg > text')].map(text => text.getBBox())"
            ".map(box => [box.x, box.y, box.x + box.width, box.y + box.height])"
        )
        browser.close()
    width, height = SIZES[size]
    assert boxes
    for left, top, right, bottom in boxes:
        assert left >= 0
        assert top >= 0
        assert right <= width
        assert bottom <= height


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("All about tea", "Free returns.", "Ivy Press"),
            "All about tea. Free returns. Ivy Press.",
        ),
        (("All about tea", "", "Ivy Press"), "All about tea. Ivy Press."),
        (("Tea?", "Yes!", "Ivy & Co."), "Tea? Yes! Ivy & Co."),
    ],
)
def test_what_a_banner_says_is_read_out_in_sentences(words, said):
    assert wording(*words) == said
