"""The export of spans: without its libraries, and while the collector comes and goes."""

import logging
import subprocess
import sys

import pytest

from common import ports
from common.settings import SettingsError
from common.telemetry import export_to
from common.telemetry.trace_context import TraceContext
from tests.fake_shop.collector import Collector
from tests.waiting import until


def test_without_the_libraries_the_setting_is_refused_with_the_fix(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("opentelemetry")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "common.telemetry.export", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(SettingsError, match=r"^DOORBUSTER_TELEMETRY_ENDPOINT needs the extra .*uv"):
        export_to("http://127.0.0.1:4318", "shop")


def test_a_gateway_without_telemetry_imports_no_library_of_it():
    program = "import gateway.service, sys; print('opentelemetry' in sys.modules)"
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert said == "False\n"


def test_the_log_says_when_traces_are_lost_and_when_they_arrive_again(caplog):
    (port,) = ports.free(1)
    root = TraceContext.of_request(b"request-1")

    def lines():
        return [record.getMessage() for record in caplog.records if record.name == "telemetry"]

    def add():
        export.add("queue", root.child(), root, 1, 2, attributes={})

    with caplog.at_level(logging.INFO):
        export = export_to(f"http://127.0.0.1:{port}", "shop")
        add()
        until(lambda: len(lines()) == 1)
        with Collector(port).serving() as collector:
            add()
            until(lambda: len(lines()) == 2)
            export.close()
    lost, again = lines()
    assert lost.endswith("does not accept traces, which are lost")
    assert again.endswith("accepts traces again")
    assert [span.name for span in collector.spans] == ["queue"]
