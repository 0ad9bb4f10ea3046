"""A new page of the console is one folder and one line in the registry."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.settings import REPOSITORY

FILES = {
    "__init__.py": "",
    "urls.py": """
from django.urls import path
from lab.console.tides import views
urlpatterns = [path("tides/", views.tides, name="tides")]
""",
    "views.py": """
from django.shortcuts import render
from lab.console.site.permissions import readers

@readers
def tides(request):
    return render(request, "console/tides.html", {"height": "3 m"})
""",
    "templates/console/tides.html": """
{% extends "console/base.html" %}
{% block main %}<h1>Tides</h1><p>{{ height }}</p>{% endblock %}
""",
    "static/console/tides.css": "h1 { color: teal }\n",
}
LINE = '    Page("tides", "/tides/", "Tides"),\n'
PROGRAM = """
import django
from django.core.management import call_command
from lab.console.site.settings import FOLDER
FOLDER.mkdir(parents=True, exist_ok=True)
django.setup()
call_command("migrate", verbosity=0)
call_command("collectstatic", verbosity=0, interactive=False)
from django.test import Client
print(Client(SERVER_NAME="127.0.0.1").get("/tides/").content.decode())
assert (FOLDER / "static" / "console" / "tides.css").is_file()
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with a copy of the console and links to everything else of the repository."""
    place = tmp_path / "copy"
    (place / "lab").mkdir(parents=True)
    unwanted = shutil.ignore_patterns("__pycache__")
    shutil.copytree(REPOSITORY / "lab" / "console", place / "lab" / "console", ignore=unwanted)
    for folder in (REPOSITORY, REPOSITORY / "lab"):
        for path in folder.iterdir():
            target = place / path.relative_to(REPOSITORY)
            if not target.exists() and not path.name.startswith("."):
                target.symlink_to(path)
    return place


def test_a_page_is_one_folder_and_one_line(copy: Path, tmp_path: Path) -> None:
    for name, text in FILES.items():
        file = copy / "lab" / "console" / "tides" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    registry = copy / "lab" / "console" / "pages.py"
    text = registry.read_text()
    end = '    Page("race", "/race/", "Race"),\n'
    assert end in text
    registry.write_text(text.replace(end, end + LINE))
    made = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=copy,
        env=os.environ
        | {
            "DJANGO_SETTINGS_MODULE": "lab.console.site.settings",
            "DOORBUSTER_STATE_DIR": str(tmp_path / "state"),
            "DOORBUSTER_RESULTS_DIR": str(tmp_path / "results"),
        },
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert made.returncode == 0, made.stderr
    assert "<p>3 m</p>" in made.stdout
    assert '<a href="/tides/" aria-current="page">Tides</a>' in made.stdout
