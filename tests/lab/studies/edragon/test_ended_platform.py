"""One run on a hosting platform that exists only here."""

from types import SimpleNamespace

import pytest

from hosting.starting import HostingError
from lab.engines.hosted import run as hosted
from lab.errors import ExperimentError
from lab.studies.edragon.cases import TO_HIGH
from lab.studies.edragon.live import scaled_run
from tests.lab.studies.edragon.test_live import TWO, costs


class EndedPlatform:
    """A platform of two applications, one of which has ended."""

    applications = tuple(
        SimpleNamespace(name=name, https_url="https://127.0.0.1:1", authority=None)
        for name in ("app-1", "app-2")
    )

    def __init__(self, *_):
        """Take what a platform takes."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """End nothing."""

    def check(self):
        raise HostingError("app-2 has ended: killed")


def test_an_application_that_ends_ends_all_loads(tmp_path, monkeypatch):
    """All load generators run in one call, which the first line after the end interrupts."""
    loads_seen = []

    def play(loads, on):
        loads_seen.extend(loads)
        loads[0].on_progress({"event": "progress"})

    monkeypatch.setattr(hosted, "Platform", EndedPlatform)
    monkeypatch.setattr(hosted, "HostingMeter", lambda lab, platform: None)
    monkeypatch.setattr(hosted, "run_loads", play)
    run = scaled_run(TWO.two(TO_HIGH).run, 0.5, costs(), 0.5)
    with pytest.raises(ExperimentError, match="app-2 has ended: killed"):
        hosted.make_hosted_run(None, run, 1, tmp_path, print)
    assert [load.log_file.name for load in loads_seen] == ["loadgen-1.log", "loadgen-2.log"]
