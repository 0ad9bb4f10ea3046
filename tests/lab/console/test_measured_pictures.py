"""Pictures of measured and simulated results, for the gallery."""

import re

import pytest

from lab.console import measured_pictures
from tests.lab.attempt_tables import RUSH
from tests.lab.test_tables import SPEC, finished


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


def test_the_live_one_says_so():
    seen = words(measured_pictures.FOLDER / "live" / "live-leaderboard.svg")
    assert {"ρ = 1.4 and ρ = 2, live", "DOOR-LIFO", "ρ = 2"} <= seen
