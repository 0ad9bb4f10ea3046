"""A study is resumed where it was interrupted, and its report comes out the same."""

from dataclasses import replace

import pytest

from lab.report.terminal import TasksProgress
from lab.runner import study as studies
from lab.runner.study import Options, SimulatedStudy, reproduce, simulate_missing
from lab.studies.measures import simulate_case
from tests.lab.studies.small import small_study

pytestmark = pytest.mark.slow


OPTIONS = Options(simulate_case, repetitions=2, processes=1)


def small_run(results_dir, options=OPTIONS):
    """A small study whose results go to a folder of the test."""
    run = SimulatedStudy(small_study(), options)
    run.lab = run.lab.changed(results_dir=results_dir)
    return run


def test_what_was_interrupted_is_resumed_and_comes_to_the_same(tmp_path, monkeypatch):
    run = small_run(tmp_path / "cut")
    assert len(run.simulations) == 6

    def interrupted(progress, position):
        if position == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(TasksProgress, "done", interrupted)
        with pytest.raises(KeyboardInterrupt):
            reproduce(run, fresh=False)
    cut = run.unfinished()
    assert len(cut.missing(run.simulations)) == 3
    assert run.estimate(cut).real_s > 0
    done = {path: path.stat().st_mtime_ns for path in cut.simulations.iterdir()}
    resumed = reproduce(small_run(tmp_path / "cut"), fresh=False)
    assert resumed.path == cut.path
    assert done.items() <= {path: path.stat().st_mtime_ns for path in done}.items()

    whole = reproduce(small_run(tmp_path / "whole"), fresh=False)
    for name in ("figures/figure-1.csv", "claims.json"):
        assert (resumed.path / name).read_text() == (whole.path / name).read_text()


def test_fresh_and_other_options_begin_again(tmp_path):
    first = small_run(tmp_path).begin()
    assert small_run(tmp_path).unfinished().path == first.path
    assert small_run(tmp_path, replace(OPTIONS, repetitions=1)).unfinished() is None
    fresh = reproduce(small_run(tmp_path), fresh=True)
    assert fresh.path != first.path


def test_other_code_begins_again(tmp_path, monkeypatch):
    small_run(tmp_path).begin()
    monkeypatch.setattr(studies, "describe_versions", lambda: {"doorbuster": "another"})
    assert small_run(tmp_path).unfinished() is None


def test_attempts_are_kept_with_logs(tmp_path):
    run = small_run(tmp_path, replace(OPTIONS, repetitions=1, logs=True))
    result = run.begin()
    simulate_missing(result, run.simulations, run.options)
    kept = {path.stem for path in result.attempts.glob("*.parquet")}
    assert kept == {simulation.name for simulation in run.simulations}
