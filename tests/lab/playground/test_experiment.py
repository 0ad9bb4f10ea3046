"""The playground gives the lab's numbers, and its modules need the standard library alone."""

import io
import json
import re
import zipfile
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from lab.analysis.cells import bound_of_spec
from lab.analysis.outcomes import outcomes_of
from lab.engines.capacity import computed
from lab.engines.simulated.run import scenario_of
from lab.playground import experiment, sources
from lab.playground.experiment import SLIDERS, ChoiceError
from lab.spec.experiment import Spec
from lab.spec.runs import ShopRun
from loadgen.records.attempt_log import AttemptLog
from simulator.simulation import simulate
from tests.programs import python

CHOICE = {"policy": "8q-lifo-pri", "rho": 2.0, "sessions": 400, "seed": 3, "timeout_s": 5}


def spec_of(choice):
    """The spec that means what a visitor chose."""
    return Spec.model_validate(
        {
            "engine": "simulated",
            "seed": choice["seed"],
            "policy": [{"name": choice["policy"], "admission": choice.get("admission", "none")}],
            "load": {"rho": [choice["rho"]], "sessions": choice["sessions"]},
            "customers": {"timeout_s": choice["timeout_s"]},
        }
    )


@pytest.mark.parametrize("policy", ["sq", "8q-lifo-pri", "door-lifo", "gradient2"])
@pytest.mark.parametrize("admission", ["none", "sbac-responsive"])
def test_metrics_equal_those_of_the_lab_digit_for_digit(policy, admission):
    """A run of the playground and a run of the command line are one simulation."""
    choice = {**CHOICE, "policy": policy, "admission": admission}
    spec = spec_of(choice)
    log = AttemptLog()
    scenario = scenario_of(ShopRun.of_spec(spec, spec.policy[0].key, 2.0), seed=3)
    simulate(scenario, log=log)
    found = outcomes_of(log.table(), 2.0, bound_of_spec(spec, computed(spec).best_rps))
    metrics = experiment.run(choice)["metrics"]
    assert metrics["confirms"] == found.confirms
    assert metrics["sessions"] == found.sessions
    assert metrics["duration_s"] == found.duration_s
    for name in ("completed_ratio", "confirm_bound", "revenue_efficiency_ratio", "throughput_rps"):
        assert metrics[name] == getattr(found, name), name


def test_a_rush_ends_with_its_schedule():
    found = experiment.run({"policy": "sq", "rho": 4, "shape": "rush"})
    waiting = dict(zip(found["samples"]["time_s"], found["samples"]["waiting"], strict=True))
    assert waiting[experiment.RUSH_FROM_S] < waiting[experiment.RUSH_UNTIL_S]
    assert found["metrics"]["duration_s"] > experiment.END_S - 60


def test_the_archive_needs_nothing_else(tmp_path):
    """Without site-packages and without the checkout, Python runs every policy from the archive."""
    with zipfile.ZipFile(io.BytesIO(sources.archive())) as archive:
        archive.extractall(tmp_path)
    program = (
        "import json, sys; sys.path.insert(0, sys.argv[1]);"
        "from lab.playground import experiment as e;"
        "names = [policy['name'] for policy in e.choices()['policies']];"
        "print(json.dumps({name: e.run({'policy': name, 'sessions': 100}) for name in names}))"
    )
    done = python("-I", "-S", "-c", program, tmp_path, cwd=tmp_path, check=True)
    found = json.loads(done.stdout)
    assert found["sq"] == json.loads(json.dumps(experiment.run({"policy": "sq", "sessions": 100})))
    assert len(found) == len(experiment.choices()["policies"])


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"policy": "none"}, "policy: 'none'; allowed: sq, "),
        ({"policy": "sq", "admission": "door"}, "admission: 'door'; allowed: none, "),
        ({"policy": "sq", "rho": 9}, "rho: 9; allowed: a number from 0.5 to 4"),
        ({"policy": "sq", "rho": "two"}, "rho: 'two'; allowed: a number from 0.5 to 4"),
        ({"policy": "sq", "shape": "wave"}, "shape: 'wave'; allowed: steady or rush"),
    ],
)
def test_an_invalid_choice_names_the_field_and_what_it_may_be(choice, message):
    """A link may hold anything; the page shows this sentence."""
    with pytest.raises(ChoiceError, match=message):
        experiment.run(choice)


@pytest.mark.parametrize("slider", SLIDERS, ids=lambda one: one.name)
def test_both_ends_of_every_slider_can_be_simulated(slider):
    for value in (slider.low, slider.high):
        choice = {"policy": "door-lifo", "sessions": 100, "rho": 1.2, slider.name: value}
        assert experiment.run(choice)["metrics"]["sessions"] > 0


LABS = Path(__file__).parents[3] / "docs" / "labs"
LINKS = [
    (path.stem, query)
    for path in sorted(LABS.glob("0*.md"))
    for query in re.findall(r"/playground/\?([^)\s]+)\)", path.read_text(encoding="utf-8"))
]


def test_six_lab_sheets_link_to_the_playground():
    """The sheets on simulated shops have a link; the others are live or of other systems."""
    assert [sheet[:2] for sheet, _ in LINKS] == ["01", "02", "03", "07", "08", "09"]


@pytest.mark.parametrize(("sheet", "query"), LINKS)
def test_every_setting_in_a_link_of_a_lab_sheet_is_valid(sheet, query):
    """The page drops a setting that it does not know, so a wrong one would show another shop."""
    settings = dict(parse_qsl(query, strict_parsing=True))
    common = {slider.name: slider.default for slider in SLIDERS} | {"shape": "steady"}
    sides = {f"{field}-{side}" for field in ("policy", "admission") for side in "ab"}
    assert settings.keys() <= common.keys() | sides
    for name in settings.keys() & common.keys():
        common[name] = settings[name] if name == "shape" else float(settings[name])
    for side in "ab":
        admission = settings.get(f"admission-{side}", "none")
        chosen = {"policy": settings[f"policy-{side}"], "admission": admission}
        assert experiment.scenario_of({**common, **chosen})
