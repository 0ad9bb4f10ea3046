"""Arrivals by a formula or from a trace: in specs, in runs, and in the simulator."""

import numpy as np
import pytest

from lab.engines.simulated.run import scenario_of, simulate_run
from lab.errors import SpecError
from lab.files.run_folder import RunFolder
from lab.spec import traces
from lab.spec.experiment import changed, checked, load_checked, read_spec
from lab.spec.runs import ShopRun, run_of
from loadgen.plan import Sessions

TRACE = "time_s\n" + "0\n" * 30 + "60\n" * 90 + "119\n"
SPEC = """version = 1
engine = "simulated"
[[policy]]
name = "sq"
[load]
rho = [0.5, 1.5]
arrivals = {arrivals}
"""


@pytest.fixture
def traced(tmp_path):
    """A spec whose trace has 30 sessions at 0 s, 90 at 60 s and one at 119 s."""
    path = tmp_path / "x.csv"
    path.write_text(TRACE)
    return checked(read_spec(SPEC.format(arrivals=f'{{trace = "{path}"}}'), "x"), "x"), path


def arrivals_s(run, seed=1):
    """The times at which sessions of a simulated run arrive."""
    return np.array(list(scenario_of(run, seed).customers.arrivals()))


def test_a_formula_gives_the_shape_and_rho_the_mean():
    spec = read_spec(SPEC.format(arrivals='{formula = "1 + t"}\nduration_s = 4'), "x")
    for rho in (0.5, 1.5):
        run = ShopRun.of_spec(spec, "sq", rho)
        loads = [segment.rho for segment in run.schedule.segments]
        assert loads == pytest.approx([rho * load / 3 for load in (1.5, 2.5, 3.5, 4.5)])
        assert run.offered_rho == spec.load.offered(rho) == pytest.approx(rho)
        assert run.arrivals_s == spec.load.arrivals_s == 4
        assert run_of(run.as_json()) == run


def test_sessions_of_a_simulation_come_when_the_trace_has_them(traced):
    """Each step of the trace has its share of the load, and the others are empty."""
    spec, _ = traced
    run = ShopRun.of_spec(spec, "sq", 1.5)
    expected = run.schedule.expected_sessions(run.session_rate)
    assert expected == pytest.approx(1.5 * run.capacity_rps * 119 * 121 / 120 / run.mean_length)
    step_s = run.schedule.duration_s / len(run.schedule.segments)
    times_s = np.concatenate([arrivals_s(run, seed) for seed in range(1, 9)])
    found = np.floor(times_s / step_s)
    steps, numbers = np.unique(found, return_counts=True)
    assert steps.tolist() == [0, 59, 118]
    assert numbers.sum() == pytest.approx(8 * expected, rel=0.1)
    assert numbers[1] / numbers[0] == pytest.approx(3, rel=0.25)


def test_both_engines_have_the_same_arrivals(traced, tmp_path):
    spec, _ = traced
    run = ShopRun.of_spec(spec, "sq", 0.5)
    folder = RunFolder(tmp_path / "run")
    simulate_run(run, 1, folder, lambda *_: None)
    attempts = folder.attempts()
    is_first = (attempts["step"].to_numpy() == 0) & (attempts["attempt"].to_numpy() == 1)
    logged = attempts["intended_s"].to_numpy()[is_first]
    plan = Sessions(model=run.session_model, capacity_rps=run.capacity_rps, schedule=run.schedule)
    live = Sessions.model_validate_json(plan.model_dump_json()).customers(1).arrivals()
    expected = arrivals_s(run).tolist()
    assert sorted(logged.tolist()) == list(live) == expected
    assert len(expected) > 20


def test_a_seed_has_the_same_customers_at_every_load(traced):
    """Customers only come earlier or later, as under a constant load."""
    spec, _ = traced
    low, high = (arrivals_s(ShopRun.of_spec(spec, "sq", rho)) for rho in (0.5, 1.5))
    assert (high[: len(low)] <= low + 1e-9).all()


def test_a_result_needs_no_trace_file(traced):
    spec, path = traced
    assert sum(spec.load.arrivals.counts) == 121
    path.unlink()
    assert read_spec(spec.to_toml(), "again") == spec
    longer = changed(spec, load__duration_s=240.0)
    assert longer.load.as_schedule().duration_s == pytest.approx(240)


@pytest.mark.parametrize(
    ("arrivals", "words"),
    [
        ("{}", ["load.arrivals", "either a formula or a trace"]),
        ('{formula = "1"}', ["load.duration_s", "is missing"]),
        ('{formula = "1", trace = "day"}', ["load.arrivals", "either a formula or a trace"]),
        ('{formula = "1"}\nsessions = 5', ["load.sessions", "use duration_s instead"]),
        ('{formula = "1 + x"}\nduration_s = 5', ["load.arrivals.formula", "column 5", "sin, cos"]),
        ('{formula = "t - 2"}\nduration_s = 5', ["load.", "t = 0.5", "0 or more"]),
        ('{formula = "0*t"}\nduration_s = 5', ["load.", "no session ever arrives"]),
        ('{trace = "nothing"}', ["load.arrivals.trace", "nothing", "day, flash-sale"]),
        ('{trace = "/nowhere.csv"}', ["load.arrivals.trace", "/nowhere.csv", "does not exist"]),
        ('{trace = "day", counts = [0], traced_s = 1}', ["load.arrivals.counts", "ever arrives"]),
    ],
)
def test_a_fault_names_the_key_and_what_is_allowed(arrivals, words):
    with pytest.raises(SpecError) as raised:
        checked(read_spec(SPEC.format(arrivals=arrivals), "x"), "x")
    assert [word for word in words if word not in str(raised.value)] == []


@pytest.mark.parametrize("name", traces.names())
def test_an_included_trace_is_what_its_command_writes(name):
    text = (traces.FOLDER / f"{name}.csv").read_text()
    assert text == traces.generated(name)
    assert text.startswith("# Generated by `python -m lab.spec.traces`")


def test_the_included_specs_have_the_loads_that_they_state():
    """The sale begins with several times the capacity; waves go up to 1.9 times."""
    sale, waves = load_checked("flash-sale").load, load_checked("waves").load
    loads = [segment.rho for segment in sale.schedule_at(0.9).segments]
    assert np.mean(loads[300:330]) == pytest.approx(4, abs=0.7)
    assert np.mean(loads) == pytest.approx(0.9)
    assert max(part.rho for part in waves.schedule_at(1.0).segments) == pytest.approx(1.9, abs=0.01)
