import time
from collections import Counter

import pytest

from lab.errors import ExperimentError
from lab.files.documents import write_json
from lab.results.comparison import ComparisonResult
from lab.runner.comparison import missing_groups, plan
from lab.runner.expectation import Expectation
from lab.spec.experiment import Spec, changed, read_spec

SPEC = changed(Spec(), load__rho=[0.85, 1.4], repetitions=3, seed=5)


def test_every_policy_meets_every_load_and_seed_once():
    cells = Counter((run.policy, run.rho, run.seed) for run in plan(SPEC))
    assert len(cells) == 3 * 2 * 3
    assert set(cells.values()) == {1}
    assert {seed for _, _, seed in cells} == {5, 6, 7}


def test_the_order_is_random_repeatable_and_by_repetition():
    first = plan(SPEC)
    assert first == plan(SPEC)
    assert [run.seed for run in first] == sorted(run.seed for run in first)
    orders = {tuple((r.policy, r.rho) for r in first if r.seed == seed) for seed in (5, 6, 7)}
    assert len(orders) > 1


AT_ONCE = changed(SPEC, at_once=True)


def test_runs_at_once_are_neighbours_with_their_shops_drawn_anew():
    planned = plan(AT_ONCE)
    assert Counter(planned).keys() == set(planned)
    groups = [planned[at : at + 3] for at in range(0, len(planned), 3)]
    assert len(groups) == 2 * 3
    for group in groups:
        assert len({(run.rho, run.seed) for run in group}) == 1
        assert {run.policy for run in group} == {"sq", "8q-af", "8q-lifo-pri"}
    assert len({tuple(run.policy for run in group) for group in groups}) > 1


def test_of_runs_at_once_all_are_made_again_when_one_is_missing(tmp_path):
    folder = ComparisonResult.create(tmp_path, AT_ONCE, {}, plan(AT_ONCE))
    for planned in plan(AT_ONCE)[:4]:
        folder.run(planned).path.mkdir(parents=True)
        write_json(folder.run(planned).summary_file, {})
    groups = missing_groups(folder, AT_ONCE)
    assert [run.number for run in groups[0]] == [4, 5, 6]
    assert len(groups) == 5
    one_by_one = ComparisonResult.create(tmp_path, SPEC, {}, plan(SPEC))
    assert missing_groups(one_by_one, SPEC) == [[run] for run in plan(SPEC)]


def test_runs_at_once_take_the_time_of_one():
    alone, at_once = (Expectation(spec, 5.0).all_real_s for spec in (SPEC, AT_ONCE))
    assert at_once == pytest.approx(alone / 3)


def test_a_folder_remembers_what_is_missing(tmp_path):
    folder = ComparisonResult.create(tmp_path, SPEC, {"capacity": {}}, plan(SPEC))
    assert folder.spec() == SPEC
    assert folder.missing() == plan(SPEC)
    done = folder.run(plan(SPEC)[0])
    done.path.mkdir(parents=True)
    done.attempts_file.touch()
    assert len(folder.missing()) == 18  # without run.json a run is not whole
    write_json(done.summary_file, {})
    assert folder.missing() == plan(SPEC)[1:]


def test_only_an_unfinished_folder_of_the_same_spec_is_resumed(tmp_path):
    assert ComparisonResult.unfinished(tmp_path, SPEC) is None
    folder = ComparisonResult.create(tmp_path, SPEC, {}, plan(SPEC))
    (tmp_path / "rubbish").mkdir()
    (tmp_path / "rubbish" / "plan.json").write_text("{")
    assert ComparisonResult.unfinished(tmp_path, SPEC).path == folder.path
    assert ComparisonResult.unfinished(tmp_path, changed(SPEC, seed=6)) is None
    for planned in plan(SPEC):
        folder.run(planned).path.mkdir(parents=True)
        write_json(folder.run(planned).summary_file, {})
    assert ComparisonResult.unfinished(tmp_path, SPEC) is None


@pytest.mark.parametrize(
    ("part", "file", "content"),
    [
        ("spec", "spec.toml", None),
        ("spec", "spec.toml", b"\xff"),
        ("plan", "plan.json", b'[{"n": 1}]'),
    ],
)
def test_a_damaged_folder_is_an_error_for_people(tmp_path, part, file, content):
    folder = ComparisonResult.create(tmp_path, SPEC, {}, plan(SPEC))
    (folder.path / file).unlink()
    if content is not None:
        (folder.path / file).write_bytes(content)
    with pytest.raises(ExperimentError, match=file):
        getattr(folder, part)()
    assert ComparisonResult.unfinished(tmp_path, SPEC) is None


def test_no_result_is_said_with_the_mend(tmp_path):
    with pytest.raises(ExperimentError, match="make compare"):
        ComparisonResult.newest(tmp_path)
    with pytest.raises(ExperimentError, match=r"plan\.json"):
        ComparisonResult.open(tmp_path)


def test_the_expected_time_follows_load_and_scale():
    runs = plan(SPEC)
    slow = Expectation(SPEC, 5.0).real_s(runs)
    assert Expectation(SPEC, 5.0).all_real_s == pytest.approx(slow)
    assert Expectation(changed(SPEC, time_scale=20), 5.0).real_s(runs) == pytest.approx(slow / 2)
    one = plan(changed(SPEC, load__rho=[1.4], repetitions=1))[:1]
    expected_s = Expectation(SPEC, 5.0).real_s(one)
    assert expected_s == pytest.approx((1000 * 2.397 / 7 + 60) / 10, rel=1e-3)


def test_expectations_do_not_depend_on_the_number_of_runs():
    policies = [{"name": "sq", "label": f"p{number}"} for number in range(50)]
    spec = changed(
        SPEC,
        policy=policies,
        load__rho=[1 + number / 100 for number in range(50)],
        repetitions=40,
        engine="simulated",
    )
    assert spec.number_of_runs == 100_000
    began_s = time.perf_counter()
    expectation = Expectation(spec, 5.0)
    assert expectation.all_requests > 100_000 * 1000 * 2
    assert time.perf_counter() - began_s < 2
    once = Expectation(changed(spec, repetitions=1), 5.0)
    assert expectation.all_requests == pytest.approx(40 * once.all_requests)


def test_a_closed_loop_is_expected_to_ask_as_often_as_its_clients_think():
    text = "version = 1\nengine = 'simulated'\n[clients]\nper_set = 10\nthink_time_mean_s = 2"
    spec = read_spec(f"{text}\n[load]\nduration_s = 1000", "loop")
    assert Expectation(spec, None).all_requests == pytest.approx(3 * 20 * 500)
