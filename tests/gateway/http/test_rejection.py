"""The page for customers whom admission control turns away."""

import re
from datetime import datetime
from html.parser import HTMLParser

import pytest

from gateway.http.refusals import rejection_page

NOW_S = 1_700_000_000.25  # 2023-11-14 22:13:20 UTC


class Text(HTMLParser):
    """The text of a page, and its tags."""

    def __init__(self, page):
        super().__init__()
        self.shown = []
        self.tags = {}
        self.feed(page.decode())

    def handle_starttag(self, tag, attrs):
        self.tags.setdefault(tag, []).append(dict(attrs))

    def handle_data(self, data):
        self.shown.append(data)

    def __str__(self):
        return " ".join(" ".join(self.shown).split())


@pytest.fixture(autouse=True)
def utc(monkeypatch):
    import time

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("wait_s", "words", "clock"),
    [
        (1, "1 second", "22:13:22 UTC"),
        (30, "30 seconds", "22:13:51 UTC"),
        (89, "89 seconds", "22:14:50 UTC"),
        (90, "2 minutes", "22:15 UTC"),
        (300, "5 minutes", "22:19 UTC"),
        (301, "6 minutes", "22:19 UTC"),
        (2 * 3600, "2 hours", "00:14 UTC"),
    ],
)
def test_the_promise(wait_s, words, clock):
    text = Text(rejection_page("why", wait_s, NOW_S))
    assert f"Please come back in about {words} , at {clock} ." in str(text)
    ((stamp,),) = [tag.values() for tag in text.tags["time"]]
    back_s = datetime.fromisoformat(stamp).timestamp()
    assert 0 <= back_s - (NOW_S + wait_s) <= 60  # never early


def test_it_says_what_happened_and_that_nothing_was_bought():
    text = str(Text(rejection_page("why", 300, NOW_S)))
    assert "The shop is full right now" in text
    assert "nothing was ordered or charged" in text


def test_it_is_a_page_for_everybody():
    tags = Text(rejection_page("why", 300, NOW_S)).tags
    assert tags["html"] == [{"lang": "en"}]
    assert len(tags["title"]) == len(tags["h1"]) == len(tags["main"]) == 1
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in tags["meta"]


def test_it_does_not_reload_itself():
    page = rejection_page("why", 300, NOW_S).lower()
    assert b"http-equiv" not in page
    assert b"<script" not in page


def test_a_reason_is_text_not_html():
    assert b"no &lt;new&gt; sessions" in rejection_page("no <new> sessions", 300, NOW_S)


def luminance(colour):
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_stands_out_in_light_and_in_dark():
    page = rejection_page("why", 300, NOW_S).decode()
    pairs = re.findall(r"color: (#\w{6}); background: (#\w{6})", page)
    assert len(pairs) == 2
    for text, ground in pairs:
        dark, light = sorted(map(luminance, (text, ground)))
        assert (light + 0.05) / (dark + 0.05) >= 7  # WCAG 2, AAA
