"""Common tools for testing servers find no fault that the gateway made."""

import re
import subprocess

import pytest

from tests.fake_shop.server import fake_server
from tests.gateway.process import gateway
from tests.gateway.real_sockets import PATIENCE_S
from tests.skips import skip_without


@pytest.fixture(scope="module")
def port():
    with (
        fake_server(lambda request: b"x" * 1024) as shop,
        gateway(shop.port) as (_, port, _),
    ):
        yield port


def tool(name, *arguments):
    skip_without(name)
    done = subprocess.run(
        [name, *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    return done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--head"],
        ["--http1.0"],
        ["--data", "book=1"],
        ["--header", "Transfer-Encoding: chunked", "--data", "book=1"],
        ["--header", "Expect: 100-continue", "--data", "book=1"],
        ["--request-target", "http://shop.example/"],
    ],
)
def test_curl(port, arguments):
    tail = tool(
        "curl", "-sS", "--fail", "-o", "/dev/null", "-w", "%{http_code}",
        *arguments, f"http://127.0.0.1:{port}/checkout/login/",
    )  # fmt: skip
    assert tail == "200"


def test_wrk(port):
    text = tool("wrk", "-t1", "-c16", "-d1", "--timeout", "30s", f"http://127.0.0.1:{port}/")
    assert "Non-2xx" not in text
    assert "Socket errors" not in text
    assert int(re.search(r"(\d+) requests in", text)[1]) > 0


@pytest.mark.parametrize("keep_alive", [[], ["-k"]])
def test_ab(port, keep_alive):
    text = tool("ab", "-q", "-n", 200, "-c", 8, *keep_alive, f"http://127.0.0.1:{port}/")
    assert re.search(r"Complete requests:\s+200\n", text)
    assert re.search(r"Failed requests:\s+0\n", text)
    assert "Non-2xx" not in text
    if keep_alive:
        assert re.search(r"Keep-Alive requests:\s+200\n", text)


def test_httperf(port):
    text = tool(
        "httperf", "--hog", "--server", "127.0.0.1", "--port", port, "--uri", "/",
        "--num-conns", 40, "--num-calls", 5, "--rate", 100,
    )  # fmt: skip
    assert "2xx=200 3xx=0 4xx=0 5xx=0" in text
    assert "Errors: total 0 " in text


def test_httperf_with_sessions(port, tmp_path):
    log = tmp_path / "sessions"
    log.write_text('/ think=0.01\n/search/\n\n/checkout/login/ method=POST contents="book=1"\n')
    text = tool(
        "httperf", "--hog", "--server", "127.0.0.1", "--port", port,
        f"--wsesslog=20,0,{log}", "--rate", 50,
    )  # fmt: skip
    assert "2xx=30 3xx=0 4xx=0 5xx=0" in text
    assert "Errors: total 0 " in text
