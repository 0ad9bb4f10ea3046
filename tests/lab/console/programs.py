"""Programs that have the console's own Django and an empty database, without a server."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests import fork_server

_BEGIN = """
import json, os, sys
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
from datetime import timedelta
from django.utils import timezone
from lab.console.launches import queue
from lab.console.site.allowances import STUDENT, AllowanceError
from lab.console.models import Launch, State
"""


def told(folder: Path, program: str, **settings: str) -> Any:
    """Return the output of a program, from JSON; its console keeps everything in `folder`."""
    made = _run(folder, ["-c", _BEGIN + program], settings)
    assert made.returncode == 0, made.stderr
    return json.loads(made.stdout)


def command(folder: Path, *words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """A command of the console: `python -m lab.console …`."""
    return _run(folder, ["-m", "lab.console", *words], settings)


def _run(
    folder: Path, arguments: list[str], settings: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    environment = {name: text for name, text in os.environ.items() if name != "COLUMNS"}
    environment |= {
        "DOORBUSTER_STATE_DIR": str(folder / "state"),
        "DOORBUSTER_RESULTS_DIR": str(folder / "results"),
        "DJANGO_SETTINGS_MODULE": "lab.console.site.settings",
    }
    return fork_server.run(
        [sys.executable, *arguments],
        env=environment | dict(settings),
        capture_output=True,
        text=True,
        timeout=600,  # a simulated launch runs only while the machine is otherwise idle
    )
