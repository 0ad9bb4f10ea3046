"""Pictures of measured and simulated results, for the gallery."""

import re

import pytest

from lab.console.gallery import measured_pictures
from lab.spec.experiment import load_spec
from tests.lab.attempt_tables import RUSH
from tests.lab.report.test_tables import SPEC, finished


def words(picture):
    return set(re.findall(r"<text[^>]*>([^<]+)</text>", picture.read_text()))


def test_every_policy_is_in_it(tmp_path):
    result = finished(tmp_path, SPEC, RUSH)
    drawn = measured_pictures.draw("small", result, tmp_path / "pictures")
    assert {"SQ", "8Q-LIFO-Pri", f"ρ = 1.4, {SPEC.engine}"} <= words(drawn)
    again = measured_pictures.draw("small", result, tmp_path / "again")
    assert again.read_bytes() == drawn.read_bytes()


@pytest.mark.parametrize("name", ["leaderboard", "door-ablation"])
def test_those_that_come_along_say_that_they_are_simulated(name):
    assert "ρ = 1.4, simulated" in words(measured_pictures.FOLDER / "simulated" / f"{name}.svg")


def test_the_first_look_shows_what_it_launches():
    """The picture of the first look has its load, its customers and its policies."""
    seen = words(measured_pictures.FOLDER / "simulated" / "first-look.svg")
    spec = load_spec("first-look")
    assert {"SQ", "8Q-LIFO-Pri", f"customers of {spec.load.sessions:,} who buy"} <= seen
    assert any(text.startswith(f"ρ = {spec.load.rhos[0]:g}, simulated") for text in seen)


def test_the_live_one_says_so():
    seen = words(measured_pictures.FOLDER / "live" / "live-leaderboard.svg")
    assert {"ρ = 1.4 and ρ = 2, live", "DOOR-LIFO", "ρ = 2"} <= seen
