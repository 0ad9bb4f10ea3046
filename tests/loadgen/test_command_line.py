"""`python -m loadgen` as people and experiments call it, and the real httperf on its file."""

import re
import subprocess
from collections import Counter

import pytest

from common import ports
from loadgen.options import OPTIONS
from tests.fake_shop.pages import small_shop
from tests.programs import python
from tests.skips import needs

PATIENCE_S = 240


def _loadgen(*arguments):
    return python("-m", "loadgen", *arguments)


def _requests(session_file):
    lines = [line for line in session_file.splitlines() if not line.startswith("#")]
    return [block.split("\n") for block in "\n".join(lines).strip().split("\n\n")]


def test_describe_prints_the_papers_numbers():
    ended = _loadgen("describe")
    assert ended.returncode == 0
    assert re.search(r"requests per session\s+2\.397$", ended.stdout, re.MULTILINE)
    assert re.search(r"mean execution time\s+250\.1 ms$", ended.stdout, re.MULTILINE)
    assert re.search(
        r"^Br-2\s+400\.00\s+0\.0219\s+0\.300\s+Br-4 0\.3, exit 0\.7$", ended.stdout, re.M
    )


def test_describe_prints_the_numbers_of_partly_open_sessions():
    ended = _loadgen("describe", "--partly-open")
    assert ended.returncode == 0
    # eDragon, section 4: 50 interactions, 1.4 images each.
    assert re.search(r"^Br-4 +14\.03 +Tr-1 9/68, Br-1 59/68$", ended.stdout, re.M)
    assert re.search(
        r"^interactions per session +50, at most 100: p\(end\) = 0\.0160$", ended.stdout, re.M
    )
    assert re.search(r"^replies per session +120, images included$", ended.stdout, re.M)


def test_the_help_of_run_lists_every_option_with_its_default():
    ended = _loadgen("run", "--help")
    assert ended.returncode == 0
    for option in OPTIONS:
        [entry] = re.findall(rf"^  {option.flag}\b(?!-).*(?:\n   .*)*", ended.stdout, re.MULTILINE)
        assert not option.default or f"[default: {option.default}]" in " ".join(entry.split())


def test_the_session_file_has_the_quota_and_real_addresses():
    with small_shop() as shop:
        ended = _loadgen("wsesslog", "--host", shop.url, "--seed", "2")
        again = _loadgen("wsesslog", "--host", shop.url, "--seed", "2")
    assert ended.returncode == 0, ended.stderr
    assert again.stdout == ended.stdout
    sessions = _requests(ended.stdout)
    assert len(sessions) == 1000
    kinds = Counter(path.split("/")[1] for session in sessions for path in session)
    assert kinds == {"": 1000, "browse": 400, "search": 500, "books": 370, "checkout": 127}
    asked = {path for session in sessions for path in session if path.startswith("/b")}
    assert asked == {"/browse/poetry/", "/browse/travel/", "/books/17/", "/books/4309/"}


@pytest.mark.parametrize("host", ["ftp://shop", "http://127.0.0.1:{port}"])
def test_a_session_file_needs_a_shop(host):
    ended = _loadgen("wsesslog", "--host", host.format(port=ports.free(1)[0]))
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr.startswith("Error: ")
    assert ended.stderr.count("\n") == 1


@needs("httperf")
def test_the_real_httperf_plays_the_session_file(tmp_path):
    with small_shop() as shop:
        file = tmp_path / "sessions.txt"
        file.write_text(
            _loadgen("wsesslog", "--host", shop.url, "--sessions", "50").stdout, encoding="utf-8"
        )
        sessions = _requests(file.read_text(encoding="utf-8"))
        before = len(shop.requests)
        ended = subprocess.run(
            [
                *("httperf", "--hog", "--server", "127.0.0.1", "--port", str(shop.port)),
                *("--session-cookie", "--rate", "200", "--wsesslog", f"50,0,{file}"),
            ],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=True,
        )
        asked = Counter(seen.path for seen in shop.requests[before:])
    assert asked == Counter(path for session in sessions for path in session)
    requests = sum(len(session) for session in sessions)
    assert re.search(rf"Total: connections 50 requests {requests} replies {requests}", ended.stdout)
    assert re.search(r"Session rate .*\(50/50\)", ended.stdout)
