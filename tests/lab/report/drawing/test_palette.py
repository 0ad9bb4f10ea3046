"""One colour for each policy, the same in figures, charts and races."""

import re
from pathlib import Path

import pytest

from lab.console.watch.live_shops import Seen, live_shop_of
from lab.report.drawing.palette import (
    COLOURS,
    colour_of,
    curve_styles,
    is_policy,
    numbered,
    styles_of,
)
from lab.wording import TITLES, title_of
from tests.lab.console.watch.test_frames import snapshot
from tests.lab.console.watch.test_live_shops import live_shop_here

CONSOLE = Path(__file__).parents[4] / "lab" / "console"


def luminance(colour):
    """Relative luminance as WCAG defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return sum(weight * one for weight, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_every_colour_can_be_seen_on_both_pages():
    """WCAG asks for 3 to 1 of what is drawn, on the light page and on a dark card."""
    for colour in COLOURS:
        assert (luminance("#f6f7f9") + 0.05) / (luminance(colour) + 0.05) >= 3
        assert (luminance(colour) + 0.05) / (luminance("#19212a") + 0.05) >= 3


@pytest.mark.parametrize("key", [*TITLES, "sq+sbac-stable", "8q-lifo-pri+cancel", "own_policy"])
def test_key_and_title_have_the_same_colour(key):
    assert colour_of(key) == colour_of(title_of(key))


def test_the_papers_policies_and_door_have_colours_of_their_own():
    """An own policy never looks like one of them."""
    main = [colour_of(key) for key in ("sq", "8q-af", "8q-lifo-pri", "door-lifo", "door-fifo")]
    assert len(set(main)) == 5
    assert not set(main) & {colour_of(f"own_{number}") for number in range(50)}


def test_a_policy_keeps_its_colour_whatever_it_is_drawn_with():
    alone, among = styles_of(["8q-lifo-pri"]), styles_of(["sq", "8q-af", "8q-lifo-pri"])
    assert alone["8q-lifo-pri"].colour == among["8q-lifo-pri"].colour
    assert curve_styles(["SQ", "8Q-AF"])["8Q-AF"].colour == colour_of("8q-af")
    assert curve_styles(["mean 5", "mean 15"])["mean 5"] == numbered(0)
    assert is_policy("SQ + SBAC stable")
    assert not is_policy("published")


def test_no_two_of_many_lines_look_alike():
    """Neither policies, own ones included, nor numbered curves."""
    policies = [*(key for key in TITLES if key not in ("ignore", "cancel", "drop-queued")), "own"]
    assert len(set(styles_of(policies).values())) == len(policies)
    many = [numbered(number) for number in range(40)]
    assert len({(style.colour, style.dash) for style in many}) == len(many)


def test_races_and_pages_have_the_same_colours():
    """The watch page and the race both use the palette, and no other colours."""
    shown = live_shop_of(Seen("run", "8Q-LIFO-Pri", live_shop_here()), snapshot())
    assert shown["colour"] == colour_of("8q-lifo-pri")
    for name in ("curves", "report_overlay", "race", "live_shops", "charts"):
        (script,) = CONSOLE.glob(f"*/static/console/{name}.js")
        assert not re.search(r"#[0-9a-f]{6}\b", script.read_text(), re.I), name
