"""Draws by numpy are those of the session model, bit by bit."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from loadgen.workload.draws import address, stream_key, uniform
from simulator.draws_ahead import WorkDraws, uniforms

KEYS = st.integers(0, 2**64 - 1)


@given(KEYS, st.lists(st.integers(0, 2**64 - 1), min_size=1))
def test_uniforms_are_those_of_the_session_model(key, positions):
    drawn = uniforms(key, np.array(positions, np.uint64)).tolist()
    assert drawn == [uniform(key, position) for position in positions]


@given(KEYS, st.integers(0, 10**9), st.lists(st.integers(1, 40), min_size=1, max_size=20))
def test_first_attempts_are_addressed_by_session_and_step(key, first, lengths):
    drawn = WorkDraws(key).first_attempts(first, lengths)
    assert [list(work) for work in drawn] == [
        [uniform(key, address(first + i, step, 1)) for step in range(length)]
        for i, length in enumerate(lengths)
    ]


def test_retries_are_draws_of_their_own():
    key = stream_key(1, "work")
    draws = WorkDraws(key)
    assert draws.of(7, 2, 3) == uniform(key, address(7, 2, 3))
    assert draws.of(7, 2, 1) == draws.first_attempts(7, [3])[0][2]
