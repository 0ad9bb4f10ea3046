"""The events of a run have the same words wherever a reader meets them."""

import pytest

from lab import wording


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (
            {"event": "switched", "policy": {"name": "8q-lifo-pri"}, "abandonment": "drop-queued"},
            "8Q-LIFO-Pri, when a customer leaves: drop queued",
        ),
        ({"event": "load changed", "factor": 1.5}, "load × 1.5"),
        ({"event": "run ended"}, "run ended"),
    ],
)
def test_an_event(event: dict[str, object], words: str) -> None:
    assert wording.event_words(event) == words


def test_the_load() -> None:
    assert wording.load_words(1.4) == "ρ = 1.4"
    assert wording.load_words(None) == "closed loop"
    assert wording.factor_words(0.4, rho=2.0) == "load × 0.4 (ρ = 0.8)"
