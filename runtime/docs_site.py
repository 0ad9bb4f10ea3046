"""The documentation site, which Sphinx builds from `docs/` (`make docs`, `make up`) and the console
serves from `build/docs`.

Every build starts from nothing, and every warning is an error, so that a finished site has no
broken links.
"""

import argparse
import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

from common import locks
from runtime.settings import REPOSITORY
from runtime.state import digest_of

SITE = REPOSITORY / "build" / "docs"
SOURCES = ("docs", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "Makefile", "uv.lock")
_STAMP = ".sources"
TIMEOUT_S = 600


class BuildError(RuntimeError):
    """The error for a site that cannot be built, with the reason."""


def is_current() -> bool:
    stamp = SITE / _STAMP
    return stamp.exists() and stamp.read_text() == digest_of(SOURCES)


def can_build() -> bool:
    return importlib.util.find_spec("sphinx") is not None


def build(*, if_stale: bool = False) -> bool:
    """Build the site and return true; with `if_stale`, keep a current site and return false. A
    second process waits. Raises BuildError if the site cannot be built."""
    if not can_build():
        raise BuildError("Sphinx is not installed here; fix: make environment")
    try:
        SITE.parent.mkdir(exist_ok=True)
        with locks.locked(SITE.parent / "docs.lock", waits=True):
            if if_stale and is_current():
                return False
            _replace()
            return True
    except OSError as fault:
        raise BuildError(f"{SITE} cannot be written: {fault.strerror or fault}") from None


def _replace() -> None:
    version = digest_of(SOURCES)
    with tempfile.TemporaryDirectory(dir=SITE.parent, prefix="docs-") as folder:
        made = Path(folder) / "site"
        _sphinx(made, Path(folder) / "cache")
        (made / _STAMP).write_text(version)
        if SITE.exists():
            SITE.rename(Path(folder) / "last")
        made.rename(SITE)


def _sphinx(made: Path, cache: Path) -> None:
    options = ["--builder", "html", "--quiet", "--fail-on-warning", "--jobs", "auto"]
    command = [sys.executable, "-m", "sphinx", *options, "--doctree-dir", str(cache), "docs"]
    try:
        done = subprocess.run(
            [*command, str(made)],
            cwd=REPOSITORY,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BuildError(f"Sphinx took more than {TIMEOUT_S} s") from None
    if done.returncode != 0:
        raise BuildError(done.stderr.strip() or f"Sphinx ended with code {done.returncode}")


def main() -> None:
    """Build the site and print its first page's path; print nothing if it is up to date."""
    parser = argparse.ArgumentParser(
        prog="python -m runtime.docs_site",
        description=f"Build the documentation site into {SITE.relative_to(REPOSITORY)}.",
    )
    parser.add_argument(
        "--if-stale", action="store_true", help="Build the site only if a source has changed."
    )
    arguments = parser.parse_args()
    if arguments.if_stale and is_current():
        return
    try:
        built = build(if_stale=arguments.if_stale)
    except BuildError as fault:
        sys.exit(f"The documentation cannot be built:\n{fault}")
    except KeyboardInterrupt:
        print("\nInterrupted; the previous site is unchanged.", file=sys.stderr)
        sys.exit(130)
    if built:
        print(f"The documentation begins at {SITE / 'index.html'}")


if __name__ == "__main__":
    main()
