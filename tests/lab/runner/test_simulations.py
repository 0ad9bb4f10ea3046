from dataclasses import replace

import pytest

from lab.runner import simulations as making
from lab.runner.simulations import Options, carry_out, expected, finish, prepare
from lab.studies.measures import simulate_case
from runtime import settings
from tests.lab.studies.small import small_study

OPTIONS = Options(simulate_case, repetitions=2, processes=1)


def test_what_was_interrupted_is_resumed_and_comes_to_the_same(tmp_path):
    planned = prepare(small_study(), tmp_path / "cut", OPTIONS)
    assert len(planned.simulations) == 6
    assert expected(planned, settings.load()).real_s > 0

    def interrupted(position):
        if position == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carry_out(planned, interrupted)
    resumed = prepare(small_study(), tmp_path / "cut", OPTIONS)
    assert resumed.resumed
    assert resumed.store.path == planned.store.path
    assert len(resumed.missing) == 3
    done = []
    carry_out(resumed, done.append)
    assert sorted(done) == [0, 1, 2]
    page = finish(resumed, settings.load(), 1.0)

    whole = prepare(small_study(), tmp_path / "whole", OPTIONS)
    carry_out(whole, done.append)
    finish(whole, settings.load(), 1.0)
    for name in ("figures/figure-1.csv", "claims.json"):
        assert (page.parent / name).read_text() == (whole.store.path / name).read_text()


def test_fresh_and_other_options_begin_anew(tmp_path):
    first = prepare(small_study(), tmp_path, OPTIONS)
    assert prepare(small_study(), tmp_path, OPTIONS).store.path == first.store.path
    other = prepare(small_study(), tmp_path, Options(simulate_case, repetitions=1, processes=1))
    assert other.store.path.name.startswith("20")
    assert not other.resumed
    fresh = prepare(
        small_study(), tmp_path, Options(simulate_case, repetitions=2, processes=1, fresh=True)
    )
    assert not fresh.resumed
    assert len(fresh.missing) == 6


def test_other_code_begins_anew(tmp_path, monkeypatch):
    prepare(small_study(), tmp_path, OPTIONS)
    monkeypatch.setattr(making, "describe_versions", lambda: {"doorbuster": "another"})
    assert not prepare(small_study(), tmp_path, OPTIONS).resumed


def test_attempts_are_kept_with_logs(tmp_path):
    planned = prepare(small_study(), tmp_path, replace(OPTIONS, repetitions=1, logs=True))
    carry_out(planned, lambda position: None)
    kept = {path.stem for path in planned.store.attempts.glob("*.parquet")}
    assert kept == {simulation.name for simulation in planned.simulations}
