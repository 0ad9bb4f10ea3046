"""The search for settings: the same effort for every row, and what its tables say."""

import pytest
from click.testing import CliRunner

from doorbuster.commands import main
from gateway.policies.sheet import Parameter
from lab.leaderboard import tuning
from lab.results.metrics import Results
from lab.spec.experiment import changed, load_spec
from lab.studies.measures import simulate_case

BOARD = load_spec("leaderboard")


def test_every_row_tries_the_same_number_of_settings_the_default_first():
    rows = tuning.rows_of(BOARD, ("haproxy", "nginx"))
    keys = [row.key for row in rows]
    assert {"door-lifo", "fixed-limit", "sq+sbac-hybrid", "haproxy", "nginx"} < set(keys)
    assert len(keys) == len(set(keys))  # a policy with other parameters is searched once
    for row in rows:
        settings = tuning.settings_of(row, tuning.SETTINGS)
        assert len(settings) == tuning.SETTINGS
        assert settings[0].parameters == settings[0].admission_parameters == {}
        for setting in settings:
            tuning.check(setting)
        assert settings == tuning.settings_of(row, tuning.SETTINGS)


def test_a_number_goes_from_an_eighth_to_eight_times_its_default_within_what_is_allowed():
    limit = Parameter("limit", 40, "requests", "most", "", 10, 200)
    assert [tuning.value_at(limit, place) for place in (0.0, 0.5, 1.0)] == [10, 40, 200]
    wait_s = Parameter("wait_s", 6.0, "s", "limit", "", 0.1, 3600)
    assert [tuning.value_at(wait_s, place) for place in (0.0, 0.5, 1.0)] == [0.75, 6.0, 48.0]
    switch = Parameter("follows", 0, "switch", "", "", 0, 1)
    assert [tuning.value_at(switch, place) for place in (0.2, 0.7)] == [0, 1]


def test_what_is_off_by_default_or_cannot_change_the_sales_stays():
    def searched(name, default=1.0, unit="s"):
        return tuning.is_searched(Parameter(name, default, unit, "", "", 0, 1000))

    assert searched("window_s")
    assert searched("removes_gone", 0, "switch")
    assert not searched("maxqueue", 0)
    assert not searched("seed")
    assert not searched("retry_after_s")
    assert not searched("limited", {"Br-1": 1.0})


def test_the_best_setting_of_a_row_is_compared_with_its_default_seed_by_seed():
    """Customers of seed 2 buy more under every setting; the gain is 0.1 without chance."""
    board = changed(BOARD, policy=[{"name": "fixed-limit"}])
    study = tuning.study(board, proxies=("haproxy",))
    row = tuning.rows_of(board, ())[0]
    limit = tuning.settings_of(row, tuning.SETTINGS)[1].parameters["limit"]

    def runs(case):
        base = 0.6 if case.run.policy.parameters == {"limit": limit} else 0.5
        return [(case, seed, {"estimated": base + 0.2 * (seed == 102)}) for seed in (101, 102)]

    of_limit = [case for case in study.cases() if case.run.policy.gateway is None]
    results = Results.of_runs(run for case in {c.id: c for c in of_limit}.values()
                              for run in runs(case))  # fmt: skip
    best = study.figures[0].tables[0].table(results)
    (found,) = best.rows
    assert found[0] == "Fixed limit"
    assert found[1:3] == ("1", "12")
    assert found[5:] == ("0.10 ± 0.00", f"limit {limit}")
    every = study.figures[1].tables[0].table(results).rows
    assert len(every) == tuning.SETTINGS
    assert "the defaults" in [row[-1] for row in every]


def test_a_proxy_is_simulated_by_its_model():
    study = tuning.study(BOARD, proxies=("nginx",))
    case = next(case for case in study.cases() if case.run.policy.gateway)
    assert case.run.policy.gateway == "nginx"
    task = {"case": case.shortened(0.1).as_json(), "seed": 101}
    assert simulate_case(task)["sessions"] == 100


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--engine live", "allowed: the parts board, hysteresis, fairness"),
        ("--sessions 10", "--sessions: tuning has a fixed value"),
        ("--rho 2", "--rho: tuning has fixed loads"),
        ("--gateway apache", "'apache' is unknown; allowed: haproxy, nginx"),
    ],
)
def test_what_would_make_the_search_unequal_is_refused(arguments, words):
    done = CliRunner().invoke(main, ["leaderboard", "tuning", *arguments.split()])
    assert done.exit_code == 2
    assert words in done.stderr
