"""A copy of the project, in which a test may change files and run commands."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from runtime.settings import REPOSITORY
from tests.walks import guide

PARTS = (
    *("common", "dashboards", "docs", "gateway", "hosting", "lab", "loadgen", "runtime", "shop"),
    *("simulator", "tests"),
)

# Prints the console's pages at the addresses that are given.
_PAGES = """
import sys
import django
from django.conf import settings
from django.core.management import call_command
from lab.console.site.settings import FOLDER

FOLDER.mkdir(parents=True, exist_ok=True)
django.setup()
call_command("migrate", verbosity=0)
settings.STORAGES["staticfiles"]["BACKEND"] = (
    "django.contrib.staticfiles.storage.StaticFilesStorage"  # no files need to be gathered
)
from django.test import Client

for address in sys.argv[1:]:
    answer = Client(SERVER_NAME="127.0.0.1").get(address)
    assert answer.status_code == 200, (address, answer.status_code)
    print(answer.text)
"""


class ProjectCopy:
    """The packages and the documentation of the project, copied to a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for part in PARTS:
            shutil.copytree(
                REPOSITORY / part,
                folder / part,
                ignore=shutil.ignore_patterns("node_modules"),
            )
        for file in (".env.example", "pyproject.toml", "README.md", "CONTRIBUTING.md"):
            shutil.copy(REPOSITORY / file, folder)
        self._before = self._files()

    def write(self, path: str, text: str) -> None:
        """Make a file."""
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text, encoding="utf-8")

    def take(self, folder: str) -> None:
        """Make the files that the guide has for a folder."""
        found = guide.examples(folder)
        assert found, f"{guide.GUIDE.name} has no file in {folder}"
        for path, text in found.items():
            self.write(path, text)

    def replace(self, path: str, old: str, new: str) -> None:
        """Replace a text that stands in the file once."""
        text = (self.folder / path).read_text(encoding="utf-8")
        assert text.count(old) == 1, (path, old)
        self.write(path, text.replace(old, new))

    def append(self, path: str, text: str) -> None:
        """Add lines at the end of a file."""
        self.write(path, (self.folder / path).read_text(encoding="utf-8") + text)

    def touched(self) -> set[str]:
        """Return the paths of the files that are new or changed."""
        return {path for path, text in self._files().items() if self._before.get(path) != text}

    def _files(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for part in PARTS
            for path in (self.folder / part).rglob("*")
            if path.is_file() and path.suffix != ".pyc"
        }

    def python(self, *arguments: str) -> str:
        """Return what Python prints there."""
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env={
                **os.environ,
                "PYTHONPATH": str(self.folder),
                "COLUMNS": "200",
                "DJANGO_SETTINGS_MODULE": "lab.console.site.settings",
                "DOORBUSTER_RESULTS_DIR": str(self.folder / "results"),
                "DOORBUSTER_STATE_DIR": str(self.folder / "state"),
            },
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def doorbuster(self, *arguments: str) -> str:
        """Return what a command prints there."""
        return self.python("-m", "doorbuster", *arguments)

    def make_pages(self) -> None:
        """Write the pages that are made from the code, as `make pages` does."""
        self.python("-m", "tests.generated_pages")

    def pages(self, *addresses: str) -> str:
        """Return pages of the console there."""
        return self.python("-c", _PAGES, *addresses)

    def tests(self, *arguments: str) -> None:
        """Run tests there; at least one must be found and all must pass."""
        said = self.python("-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments)
        assert re.search(r"\d+ passed", said), said
