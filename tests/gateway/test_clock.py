"""Paper time goes on smoothly whatever the scale."""

import pytest

from gateway.clock import PaperClock


class Real:
    now_s = 50.0

    def __call__(self):
        return self.now_s


def test_paper_time_runs_at_the_scale():
    real = Real()
    clock = PaperClock(10, real)
    assert clock() == 0
    real.now_s += 2
    assert clock() == pytest.approx(20)
    assert clock.real_s(5) == 0.5


def test_a_new_scale_does_not_move_the_hands():
    real = Real()
    clock = PaperClock(10, real)
    real.now_s += 2
    clock.scale = 1
    assert clock() == pytest.approx(20)
    real.now_s += 2
    assert clock() == pytest.approx(22)
