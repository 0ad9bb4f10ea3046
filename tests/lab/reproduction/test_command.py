import pytest
from click.testing import CliRunner

from lab.experiments.commands import main


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
        (["ad-server", "--processes", "2"], ["--processes", "allowed: without it"]),
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
