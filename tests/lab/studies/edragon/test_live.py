"""eDragon's live runs: how a case becomes a run on this machine, and its metrics."""

import os
from dataclasses import replace

import numpy as np
import psutil
import pytest
from click.testing import CliRunner

from common import cpus
from doorbuster.commands import main
from lab.engines.hosted.connection_costs import ConnectionCosts, keep
from lab.engines.hosted.outcome import HostedApplication
from lab.engines.hosted.run import Hosted, platform_options
from lab.errors import ExperimentError
from lab.files.documents import read_json
from lab.machine.description import fingerprint
from lab.results.metrics import Results
from lab.results.study import plan
from lab.runner.study import reproduce
from lab.studies.edragon import live, measures
from lab.studies.edragon.cases import (
    LINUX,
    LIVE,
    ORIGINAL,
    SCALES,
    TO_HIGH,
    Cases,
    Scale,
    shortened,
)
from lab.studies.edragon.claims import claims
from lab.studies.edragon.study import STUDY
from runtime import settings

TWO = Cases(replace(SCALES["live"][True], processors=2), "live")


def costs(**changes):
    known = {
        "cto_s": 0.5,
        "ctn_s": 0.75,
        "handshake_full_s": 0.25,
        "handshake_resumed_s": 0.02,
        "reply_s": 0.05,
        "session_s": 2.0,
        "replies_per_new": 9.0,
        "replies_per_resumed": 9.0,
        "resumed_per_session": 3.0,
        "sessions": 20,
        "key": LIVE.key,
        "profile": LIVE.profile,
        "time_scale": LIVE.time_scale,
        "interactions_mean": LIVE.interactions_mean,
        "machine": "this",
        "measured_at": "2026-11-21",
    }
    return ConnectionCosts(**{**known, **changes})


def test_the_platform_serves_what_its_processors_have_left():
    assert live.saturation_ps(costs(), 0.0, 2) == 1.0
    # Load generator and database take as much again as the applications.
    assert live.saturation_ps(costs(), 1.0, 2) == 0.5
    shares = {"applications": 0.8, "load_generator": 0.3, "database": 0.1}
    assert live.beside_ratio(shares) == pytest.approx(0.5)
    assert live.beside_ratio({**shares, "database": None}) == pytest.approx(0.375)
    with pytest.raises(ExperimentError, match="no CPU"):
        live.beside_ratio({**shares, "applications": 0.0})


def test_a_case_becomes_a_run_with_the_loads_and_costs_of_this_machine():
    run = live.scaled_run(TWO.two(TO_HIGH).run, 0.5, costs(), 0.5)
    options = platform_options(run, 7)
    assert (options.applications, options.priorities) == (2, (2.0, 1.0))
    assert (options.provisioning, options.sharing, options.admission) == ("ecm", "to-high", "eac")
    assert (options.cto_s, options.ctn_s) == (0.75, 1.125)
    assert run.loads[0][0] == (0.0, 0.75 * 0.5)
    assert run.duration_s == 5400 / 6
    one = live.scaled_run(TWO.one(ORIGINAL, 3.0).run, 0.5, costs(), 0.5)
    assert one.loads == (((0.0, 1.5),),)
    assert (one.provisioning, one.admission) == ("static", "none")


def test_costs_of_other_sessions_are_refused_with_the_command_that_mends_it():
    live.check_costs(costs())
    with pytest.raises(ExperimentError, match="--interactions-mean 10"):
        live.check_costs(costs(interactions_mean=50.0))


def hosted(replies_each_s):
    seconds = 900
    one = HostedApplication(
        {"completed": 3, "refused": 2, "timed_out": 1, "failed": 0, "under_way": 4},
        np.linspace(0.0, 1.0, 101),
        {
            "sessions": np.ones(seconds),
            "replies": np.full(seconds, float(replies_each_s)),
            "processors": np.full(seconds, 0.5),
        },
        0.0,
    )
    used = {"applications": 1.2, "load_generator": 0.4, "database": 0.2, "others": 0.5}
    return Hosted((one, one), used)


def test_a_live_run_has_the_metrics_of_a_simulated_one():
    case = TWO.two(LINUX)
    metrics = live.live_metrics(hosted(2), case.run, 0.5)
    assert measures.throughput_ps(metrics) == 4.0
    assert measures.count("refused")(metrics) == 4.0
    assert measures.response_p95_s(metrics) == pytest.approx(0.95)
    assert measures.processors(metrics) == 0.5
    zone = TWO.scale.course.zone("E")
    assert measures.over_both("replies_ps", zone)(metrics) == 4.0
    assert "6 completed, 4 refused, 2 timed out; 4.0 replies/s" in live.verdict(metrics)
    shares = dict(live.shares_words([metrics, metrics], 2))
    assert shares["The database had"].startswith("0.20 of 2 processors")
    assert "up to 0.50 of its 2 processors" in live.disturbed_words([metrics], 2)
    assert live.disturbed_words([metrics], 8) == ""


def test_live_claims_are_about_what_two_processors_can_show():
    texts = [claim.text for claim in claims(TWO)]
    assert [text for text in texts if text.startswith("Zone E")]
    assert not [text for text in texts if "processors of Tomcat" in text]
    assert all(claim.decide(Results({}))[1] is None for claim in claims(TWO))


def test_live_figures_have_no_replies_of_another_machine():
    figures = {figure.key: figure for figure in STUDY.report(TWO).figures}
    assert not figures["figure-9"].panels[1].levels
    halves = {(level.low, level.high) for level in figures["figure-9"].panels[2].levels}
    assert (1.75, 1.75) in halves  # zone B's 3.5 of 4


def test_the_time_it_takes_is_said_before():
    runs = plan(STUDY.report(TWO).cases(), seed=1, repetitions=1)
    # Three loads of two servers, five arrangements.
    assert len(runs) == 3 * 2 + 5
    real_s = live.expected_real_s([run.case.run for run in runs])
    assert 5 * 180 + 6 * 30 < real_s < 30 * 60


def test_without_an_appliance_nothing_is_begun(tmp_path, monkeypatch):
    monkeypatch.setenv("DOORBUSTER_RESULTS_DIR", str(tmp_path))
    monkeypatch.setenv("DOORBUSTER_GATEWAY_ADMIN_PORT", "1")
    done = CliRunner().invoke(main, ["reproduce", "edragon", "--engine", "live"])
    assert done.exit_code == 1
    assert "make up" in done.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_a_tiny_reproduction_on_the_appliance(appliance, monkeypatch):
    """Every run of a tiny study is made on real platforms, kept, and drawn; nothing is left."""
    for name in [name for name in os.environ if name.startswith("DOORBUSTER_")]:
        monkeypatch.delenv(name)  # of other tests' services
    for name, value in appliance.items():
        monkeypatch.setenv(name, value)
    quick_key = replace(LIVE, key="rsa-2048")  # others take their time to be made
    monkeypatch.setattr(live, "LIVE", quick_key)
    monkeypatch.setattr(live, "TRIAL_S", 60.0)
    tiny = Scale((1.0,), 40.0, shortened(60), 1, len(cpus.usable()), quick_key)
    monkeypatch.setitem(SCALES["live"], True, tiny)
    lab = settings.load()
    keep(costs(key="rsa-2048", machine=fingerprint(lab), session_s=5.0), lab)
    study = live.live_study({"quick": True, "seed": 1, "repetitions": None})
    folder = reproduce(study, fresh=False).path
    # Two servers under one load, five arrangements.
    runs = [read_json(path) for path in (folder / "simulations").iterdir()]
    assert len(runs) == 2 + 5
    for run in runs:
        for application in run["metrics"]["applications"]:
            fates = ("completed", "refused", "timed_out", "failed")
            assert sum(application[fate] for fate in fates) <= application["sessions"]
        assert sum(one["replies"] for one in run["metrics"]["applications"]) > 0
        # The Linux default: both have all.
        most = 2 * len(cpus.usable())
        assert 0 < sum(one["processors"] for one in run["metrics"]["applications"]) <= most
        assert run["metrics"]["cpus"]["applications"] > 0
    assert (folder / "figures" / "figure-9.png").is_file()
    here = {process.pid for process in psutil.Process().children(recursive=True)}
    assert not [pid for pid in here if "hosting" in " ".join(psutil.Process(pid).cmdline())]
