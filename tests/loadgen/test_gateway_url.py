"""The customers' target where no option names one."""

import os

import pytest

from loadgen.options import gateway_url
from tests.programs import python


@pytest.mark.parametrize(
    ("host", "port", "url"),
    [
        ("", "", "http://127.0.0.1:8080"),
        ("", "9000", "http://127.0.0.1:9000"),
        ("gateway", "", "http://gateway:8080"),
        ("fd00::5", "9000", "http://[fd00::5]:9000"),
    ],
)
def test_the_settings_say_where(monkeypatch, host, port, url):
    monkeypatch.setenv("DOORBUSTER_GATEWAY_HOST", host)
    monkeypatch.setenv("DOORBUSTER_GATEWAY_PORT", port)
    assert gateway_url() == url


def test_a_bad_setting_is_one_line(tmp_path):
    """Both programs name the variable; neither shows a traceback."""
    for command in (["run", "--sessions", "1"], ["wsesslog"]):
        done = python(
            "-m",
            "loadgen",
            *command,
            cwd=tmp_path,
            env={**os.environ, "DOORBUSTER_GATEWAY_PORT": "x"},
        )
        assert done.returncode != 0
        assert "DOORBUSTER_GATEWAY_PORT=x: must be a whole number" in done.stderr
        assert "Traceback" not in done.stderr
