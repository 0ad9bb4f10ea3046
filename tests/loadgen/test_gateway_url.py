"""Where customers go whom nobody told."""

import pytest

from loadgen.gateway_url import gateway_url


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
