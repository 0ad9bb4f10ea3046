"""Libraries of uv.lock, from pypi.org or from a private package index."""

import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from runtime.settings import REPOSITORY
from tests.fake_shop.server import Reply, fake_server

pytestmark = pytest.mark.slow


UV = Path(sys.executable).with_name("uv")
PROJECT = """\
[project]
name = "small"
version = "1"
requires-python = ">=3.11"
dependencies = ["iniconfig==2.0.0"]

[dependency-groups]
dev = ["toolz==1.0.0"]
"""


@pytest.fixture
def house():
    """Yield the address of a mirror of pypi.org, and the names that were requested."""
    asked = []

    def mirrored(request):
        asked.append(request.path.strip("/").split("/")[-1])
        with urllib.request.urlopen(f"https://pypi.org{request.path}", timeout=120) as answer:
            kind = answer.headers["Content-Type"]
            return Reply(answer.read(), headers={"Content-Type": kind}, closes=True)

    with fake_server(mirrored) as server:
        yield f"{server.url}/simple/", asked


@pytest.fixture
def project(tmp_path):
    """Return a project that was locked with pypi.org."""
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "pyproject.toml").write_text(PROJECT)
    run(folder, UV, "lock", "--quiet")
    return folder


def run(folder, *command, **variables):
    kept = {
        name: text
        for name, text in os.environ.items()
        if not name.startswith(("UV_", "PIP_INDEX", "VIRTUAL_ENV"))
    }
    return subprocess.run(
        command,
        cwd=folder,
        env=kept
        | {
            "UV_PROJECT_ENVIRONMENT": str(folder / ".venv"),
            "UV_PYTHON": sys.executable,
            "UV_SYSTEM_CERTS": "true",
            "UV_CACHE_DIR": str(folder.with_name("cache")),
        }
        | variables,
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )


def installed(folder):
    return {
        path.name.split("-")[0] for path in folder.glob(".venv/lib/*/site-packages/*.dist-info")
    }


@pytest.mark.parametrize("variable", ["UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"])
def test_what_is_locked_comes_from_the_index_of_the_house(project, house, variable):
    address, asked = house
    before = (project / "uv.lock").read_text()
    run(project, REPOSITORY / "runtime/locked.sh", UV, "--no-dev", **{variable: address})
    assert installed(project) >= {"iniconfig"}
    assert "toolz" not in installed(project)
    assert "iniconfig" in asked
    assert (project / "uv.lock").read_text() == before


def test_without_one_it_is_uv_sync(project):
    run(project, REPOSITORY / "runtime/locked.sh", UV, "--inexact")
    assert installed(project) == {"iniconfig", "toolz"}


def test_a_lock_that_is_not_the_projects_is_refused(project, house):
    address, asked = house
    pyproject = project / "pyproject.toml"
    pyproject.write_text(PROJECT.replace("2.0.0", "2.1.0"))
    with pytest.raises(subprocess.CalledProcessError) as refused:
        run(project, REPOSITORY / "runtime/locked.sh", UV, UV_DEFAULT_INDEX=address)
    assert "uv.lock does not match pyproject.toml" in refused.value.stderr
    assert asked == []
