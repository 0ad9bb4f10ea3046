"""How long launches take: costs measured on this machine, predictions, predicted next to actual."""

import json

import pytest
from click.testing import CliRunner

from doorbuster.commands import main
from lab.cli.estimates import chosen, entries, table, taken
from lab.machine import speeds
from lab.machine.progress_file import ProgressFile
from lab.machine.speeds import FURTHEST, Speeds, keep, load, shipped
from lab.runner import estimates
from lab.runner.estimates import Estimate, command_name, of_command, of_spec
from lab.runner.stopwatch import FILE, Stopwatch
from lab.spec.experiment import Spec, changed, load_spec
from runtime import settings
from tests.lab.console.programs import told

KNOWN = Speeds()
SIMULATED = load_spec("lifo-pri-simulated")


@pytest.fixture
def lab(tmp_path):
    (tmp_path / "results").mkdir()
    return settings.load().changed(state_dir=tmp_path / "state", results_dir=tmp_path / "results")


@pytest.fixture
def estimated(tmp_path, monkeypatch):
    """Return a function that calls `doorbuster estimates`; there are no results yet."""
    monkeypatch.setenv("DOORBUSTER_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("DOORBUSTER_RESULTS_DIR", str(tmp_path))
    return lambda *words: CliRunner().invoke(main, ["estimates", *words])


def simulated_s(spec, processes=2, known=KNOWN):
    return of_spec(spec, 5.0, known, processes=processes).real_s


def test_measured_costs_are_kept_for_this_machine_alone(lab):
    """The next command uses them; after a change of the machine the shipped costs count again."""
    keep(lab, {"start": 1.7, "draw comparison": float("nan")}, 2 * shipped().calibration_cpu_s)
    keep(lab, {"start": 1.9})
    found = load(lab)
    assert found.measured == {"start": (1.7, 1.9)}
    assert (found.factor, found.is_calibrated) == (pytest.approx(2), True)
    assert found.cost("start process") == pytest.approx(2 * shipped().costs["start process"])
    other = lab.changed(shop_workers=lab.shop_workers + 1)
    assert load(other) == Speeds()


def test_the_median_of_the_newest_five_measurements_counts():
    usual = shipped().costs["start"]
    known = Speeds(measured={"start": (usual, usual * 1.1, usual * 3, usual, usual)})
    assert known.cost("start") == pytest.approx(usual)


def test_a_wrong_measurement_cannot_make_a_launch_look_much_smaller(lab):
    """Limits of students rest on the expected time."""
    huge = changed(SIMULATED, load__sessions=1_000_000)
    fast = dict.fromkeys(shipped().costs, (1e-12,))
    slow = dict.fromkeys(shipped().costs, (1000000000000.0,))
    usual_s = simulated_s(huge)
    assert simulated_s(huge, known=Speeds(measured=fast)) > usual_s / (1.1 * FURTHEST)
    assert simulated_s(huge, known=Speeds(measured=slow)) < usual_s * 1.1 * FURTHEST
    keep(lab, {}, 1e-9)
    assert load(lab).factor == pytest.approx(0.1)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"machine": 5}', '{"machine": null, "costs": 3}'])
def test_a_damaged_file_of_costs_is_left_out(lab, text):
    keep(lab, {"start": 1.7})
    (lab.state_dir / speeds.FILE).write_text(text)
    assert load(lab) == Speeds()
    keep(lab, {"start": 1.8})
    assert load(lab).measured == {"start": (1.8,)}


def test_a_folder_of_somebody_else_gets_no_costs(lab):
    lab.state_dir.mkdir()
    (lab.state_dir / "diary.txt").write_text("private")
    keep(lab, {"start": 1.7})
    assert [path.name for path in lab.state_dir.iterdir()] == ["diary.txt"]


def test_a_simulation_takes_less_time_on_more_processors():
    one, two, many = (simulated_s(SIMULATED, processes) for processes in (1, 2, 1000))
    assert one > two > many > of_spec(SIMULATED, 5.0, KNOWN, processes=1).serial_s
    assert of_spec(SIMULATED, 5.0, KNOWN, processes=1000).processes == SIMULATED.number_of_runs


def test_an_estimate_contains_the_start_and_the_drawing():
    tiny = changed(SIMULATED, load__sessions=100, load__rho=[1.4], repetitions=1)
    found = of_spec(tiny, 5.0, KNOWN, processes=2)
    assert found.real_s > KNOWN.cost("start") + 8 * KNOWN.cost("draw comparison")
    begin, end = found.stages
    assert 0 < begin < end < 1


def test_what_is_left_of_an_interrupted_comparison_takes_its_share():
    whole = of_spec(SIMULATED, 5.0, KNOWN, processes=1)
    rest = of_spec(SIMULATED, 5.0, KNOWN, processes=1, left_ratio=1 / 3)
    assert rest.parallel_s < whole.parallel_s / 2
    assert rest.serial_s == whole.serial_s


def test_a_live_launch_takes_its_capacity_measurement_and_its_runs():
    spec = load_spec("first-look")
    without = of_spec(spec, 5.6, KNOWN, processes=2)
    with_it = of_spec(spec, 5.6, KNOWN, processes=2, measures_capacity=True)
    assert 50 < with_it.real_s - without.real_s < 90
    assert with_it.capacity_ratio > without.capacity_ratio


def test_a_students_own_policy_is_taken_for_an_average_one(tmp_path):
    """Its file may have any name: a fast run of it says nothing about another."""
    path = tmp_path / "sq.py"
    path.write_text((settings.REPOSITORY / "lab/students/policy_template.py.txt").read_text())
    spec = Spec.model_validate(
        {"engine": "simulated", "policy": [{"name": "sq"}], "load": {"rho": [1], "sessions": 100}}
    )
    assert estimates.run_kinds(spec, spec.policy[0]) == ("run shared-cpus sq", "run shared-cpus")
    own = spec.policy[0].model_copy(update={"sha256": "0" * 64})
    assert estimates.run_kinds(spec, own) == ("run shared-cpus",)


def test_everything_in_the_gallery_has_a_predicted_time(lab, tmp_path):
    gallery = told(
        tmp_path,
        """
from lab.console.gallery.cards import CARDS
print(json.dumps([[one.name, one.arguments, one.engine, one.real_s] for one in CARDS]))
""",
    )
    every = {one.name: one for one in entries()}
    for name, arguments, engine, real_s in gallery:
        entry = every[command_name(arguments) if arguments else name]
        assert (entry.engine, real_s > 1) == (engine, True)
    assert all(one.estimate(lab).real_s > 1 for one in every.values())
    assert of_command(("leaderboard", "unknown"), KNOWN, processes=1) is None


def test_a_stopwatch_writes_predicted_and_actual_and_keeps_costs(lab, tmp_path):
    """The prediction is there from the beginning; a command within another is part of it."""
    folder = lab.results_dir / "20260101T000000Z-a"
    (folder / "inner").mkdir(parents=True)
    watch = Stopwatch()
    watch.expect("a", Estimate(serial_s=4.0))
    watch.begin(folder, is_new=True)
    assert taken(lab) == {}
    assert json.loads((folder / FILE).read_text())["predicted_s"] == 4
    watch.expect("b", Estimate(serial_s=1.0))
    watch.begin(folder / "inner", is_new=True)
    watch.spent("draw a", 2, 3.0)
    watch.end(lab)
    assert not (folder / "inner" / FILE).exists()
    assert taken(lab)["a"].predicted_s == 4
    assert load(lab).measured["draw a"] == (1.5,)


def test_a_resumed_folder_keeps_what_was_predicted_when_it_began(lab):
    """The time of a part of the work is not compared with the prediction for all of it."""
    folder = lab.results_dir / "20260101T000000Z-a"
    folder.mkdir()
    (folder / FILE).write_text('{"what": "a", "predicted_s": 9.0, "at": "2026-01-01T00:00:00"}')
    watch = Stopwatch()
    watch.expect("a", Estimate(serial_s=4.0))
    watch.begin(folder, is_new=False)
    watch.end(lab)
    assert json.loads((folder / FILE).read_text())["predicted_s"] == 9
    assert taken(lab) == {}


def test_the_table_has_predicted_next_to_actual_and_marks_a_bad_prediction(lab):
    name = "reproduce-sbac-quick"
    for day, idle_s in (("20260101", 90.0), ("20260102", 160.0)):
        folder = lab.results_dir / f"{day}T000000Z-{name}"
        folder.mkdir()
        content = {"what": name, "predicted_s": 100, "took_s": 200, "idle_s": idle_s,
                   "at": "2026-01-02T03:04:05+00:00"}  # fmt: skip
        (folder / FILE).write_text(json.dumps(content))
    found = {row[0]: row for row in table(lab, entries()).rows}
    assert found[name][3:] == ("2 min", "3 min", "3 min", "1.60 !", "2026-01-02 03:04")
    assert found["sbac"][3:] == ("–",) * 5


def test_progress_of_the_runs_is_a_part_of_the_whole(tmp_path, monkeypatch):
    path = tmp_path / "progress.json"
    monkeypatch.setenv("DOORBUSTER_PROGRESS_FILE", str(path))
    progress = ProgressFile()
    progress.stage(0.2, 0.7)
    progress.tell(now=True, done_ratio=0.5)
    assert json.loads(path.read_text())["done_ratio"] == pytest.approx(0.45)


def test_an_unknown_experiment_is_refused_with_those_that_can_be_run(estimated):
    found = estimated("--run", "everything")
    assert found.exit_code == 2
    assert "--run: 'everything' is unknown; allowed: quick, simulated, all, " in found.output


def test_an_experiment_that_is_named_twice_is_run_once(lab):
    every = entries()
    names = [one.name for one in chosen(every, ("sbac", "simulated", "first-look"), lab)]
    assert names[0] == "sbac"
    assert names[-1] == "first-look"
    assert len(set(names)) == len(names) > 5
    assert [one.name for one in chosen(every, ("all",), lab)] == [one.name for one in every]


def test_the_estimates_have_a_form_for_programs(estimated):
    found = estimated("--json")
    assert found.exit_code == 0
    rows = {row["name"]: row for row in json.loads(found.stdout)}
    assert rows["lifo-pri-simulated"]["engine"] == "simulated"
    assert rows["lifo-pri-simulated"]["predicted_s"] > 0
    assert rows["lifo-pri-simulated"]["run"] is None
