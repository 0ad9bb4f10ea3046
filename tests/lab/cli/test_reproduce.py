import json

import pytest
from click.testing import CliRunner

from doorbuster.commands import main
from lab.machine.progress_file import VARIABLE, ProgressFile
from lab.results.metrics import Results
from lab.studies import live
from lab.studies.study import PaperStudy
from tests.lab.studies.small import small_study


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["eDragon"], ["lifo-pri", "sbac", "connection-sentry"]),
        (["sbac", "--engine", "imagined"], ["simulated", "live"]),
        (["sbac", "--repetitions", "0"], ["--repetitions", "1<=x<=1000"]),
        (["sbac", "--seed", "-1"], ["--seed", "x>=0"]),
        (["sbac", "--processes", "0"], ["--processes", "x>=1"]),
        (["sbac", "--celery", "amqp://x"], ["--celery", "redis://"]),
        (["sbac", "--celery", "redis://x", "--logs"], ["--logs", "without --celery"]),
        (["sbac", "--engine", "live", "--processes", "2"], ["--processes", "simulated"]),
        (["sbac", "--engine", "live", "--logs"], ["--logs", "simulated"]),
        # Live unless somebody says otherwise.
        (["connection-sentry", "--processes", "2"], ["--processes", "--engine simulated"]),
        (["ad-server", "--engine", "simulated"], ["--engine", "ad-server", "allowed: live"]),
        (["ad-server", "--processes", "2"], ["--processes", "allowed: only without this option"]),
        (["ad-server", "--banners", "999"], ["--banners", "1000<=x<=2000000"]),
        (["sbac", "--banners", "2000"], ["--banners", "ad-server"]),
    ],
)
def test_bad_options_are_refused_in_a_line_that_names_what_is_allowed(
    arguments, said, tmp_path, monkeypatch
):
    monkeypatch.setenv("DOORBUSTER_RESULTS_DIR", str(tmp_path))
    done = CliRunner().invoke(main, ["reproduce", *arguments])
    assert done.exit_code == 2
    assert "Traceback" not in done.output
    line = done.output.strip().splitlines()[-1]
    assert all(word in line for word in said), line
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def told(tmp_path, monkeypatch):
    """Return a function that reads the progress file; results are in the same folder."""
    file = tmp_path / "progress.json"
    monkeypatch.setenv(VARIABLE, str(file))
    monkeypatch.setenv("DOORBUSTER_RESULTS_DIR", str(tmp_path / "results"))
    made = ProgressFile()
    for user in ("report.terminal", "machine.progress_file"):
        monkeypatch.setattr(f"lab.{user}.progress_file", made)
    return lambda: json.loads(file.read_text())


def test_a_simulated_reproduction_tells_where_its_report_is(told, tmp_path, monkeypatch):
    monkeypatch.setattr(PaperStudy, "build", lambda *_, **__: small_study())
    done = CliRunner().invoke(main, ["reproduce", "sbac", "--repetitions=1", "--processes=1"])
    assert done.exit_code == 0, done.output
    (report,) = (tmp_path / "results").glob("*/report.html")
    assert told()["folder"] == str(report.parent)
    assert "of 2 claims hold" in done.output


def test_a_live_one_tells_it_after_the_comparisons_it_is_made_of(told, tmp_path, monkeypatch):
    """A comparison that is part of a study names its folder, which is not the last one named."""

    def made(study, result, estimate):
        from lab.machine.progress_file import progress_file

        progress_file.tell(now=True, folder="/results/a-comparison")

    monkeypatch.setattr(live, "running_appliance", lambda lab: None)
    monkeypatch.setattr(live.ApplianceStudy, "make", made)
    monkeypatch.setattr(live.ApplianceStudy, "results", lambda study, result: Results({}))
    done = CliRunner().invoke(main, ["reproduce", "connection-sentry", "--quick"])
    assert done.exit_code == 0, done.output
    assert told()["folder"].endswith("-reproduce-connection-sentry-live-quick")
