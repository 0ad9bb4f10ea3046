"""Every study has the same shape: it can be deleted, and added as CONTRIBUTING.md shows."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lab.studies.registry import PAPERS
from lab.studies.study import PaperStudy
from runtime.settings import REPOSITORY

STUDIES = REPOSITORY / "lab" / "studies"
FILES = {"cases.py", "claims.py", "figures.py", "measures.py", "report.md", "study.py"}
MORE = {"ad_server": {"budget.py", "host.py"}}
PARTS = ("bench", "gateway", "hosting", "lab", "loadgen", "runtime", "shop", "simulator", "tests")
GUIDE = REPOSITORY / "CONTRIBUTING.md"

# Run in a copy of the lab: every study that is left is imported, built and listed.
BUILD_ALL = """
from importlib import import_module
from pathlib import Path
from click.testing import CliRunner
import lab
from lab.cli.commands import main
from lab.studies.registry import PAPERS

assert Path(lab.__file__).is_relative_to(Path.cwd()), lab.__file__
for study in PAPERS.values():
    for engine in study.engines:
        built = study.build(engine, quick=True)
        assert built.exhibits and list(built.cases())
    if "live" in study.engines:
        assert import_module(f"{study.package}.live").reproduce
said = CliRunner().invoke(main, ["reproduce", "--help"])
assert said.exit_code == 0, said.output
print("".join(said.output.split()))
"""


def folder_of(name: str) -> Path:
    return STUDIES / PAPERS[name].package.rpartition(".")[2]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the lab, next to the packages that it imports."""
    shutil.copytree(REPOSITORY / "lab", tmp_path / "lab", ignore=lambda *_: {"__pycache__"})
    for part in set(PARTS) - {"lab", "bench", "tests"}:
        (tmp_path / part).symlink_to(REPOSITORY / part)
    return tmp_path


def run_in(copy: Path, *arguments: str) -> str:
    """What Python prints there."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=copy,
        env={
            **os.environ,
            "PYTHONPATH": str(copy),
            "DOORBUSTER_RESULTS_DIR": str(copy / "results"),
            "DOORBUSTER_STATE_DIR": str(copy / "state"),
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def edited_registry(copy: Path, edit: dict[str, str]) -> None:
    file = copy / "lab" / "studies" / "registry.py"
    text = file.read_text(encoding="utf-8")
    for old, new in edit.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")


def test_each_folder_is_registered_once():
    folders = {path.parent for path in STUDIES.glob("*/study.py")}
    assert {folder_of(name) for name in PAPERS} == folders
    assert len(folders) == len(PAPERS)


@pytest.mark.parametrize("name", PAPERS)
def test_a_folder_has_the_same_files_as_all_others(name):
    folder, study = folder_of(name), PAPERS[name]
    assert isinstance(study, PaperStudy)
    assert study.name == name
    live = {"live.py"} if "live" in study.engines else set()
    found = {path.name for path in folder.iterdir()} - {"__pycache__", "__init__.py"}
    assert found == FILES | live | MORE.get(folder.name, set())


def test_nothing_outside_a_papers_folder_imports_it():
    own = {PAPERS[name].package: folder_of(name) for name in PAPERS}
    tests = REPOSITORY / "tests" / "lab" / "studies"
    found = [
        f"{path.relative_to(REPOSITORY)} imports {one}"
        for path in (path for part in PARTS for path in (REPOSITORY / part).rglob("*.py"))
        for one in study_imports(path)
        for package, folder in own.items()
        if f"{one}.".startswith(f"{package}.")
        and not {folder, tests / folder.name} & set(path.parents)
    ]
    assert found == []


def study_imports(path: Path) -> list[str]:
    """The full names that a file imports from the studies."""
    text = path.read_text(encoding="utf-8")
    if "lab.studies" not in text:
        return []
    found: list[str] = []
    for node in ast.walk(ast.parse(text, str(path))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import hides what it imports"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


@pytest.mark.parametrize("name", PAPERS)
def test_a_paper_is_deleted_with_its_folder_and_its_line(name, copy):
    shutil.rmtree(copy / folder_of(name).relative_to(REPOSITORY))
    edited_registry(copy, {f'        "{name}": "{PAPERS[name].package}",\n': ""})
    listed = run_in(copy, "-c", BUILD_ALL)
    others = "|".join(other for other in PAPERS if other != name)
    assert f"{{{others}}}" in listed


def test_the_guides_study_is_added_with_its_folder_and_its_line(copy):
    guide = GUIDE.read_text(encoding="utf-8")
    files = re.findall(
        r"<!-- example: (lab/studies/burst/\S+) -->\n```\w+\n(.*?)```", guide, re.DOTALL
    )
    assert {Path(path).name for path, _ in files} == FILES
    (copy / "lab" / "studies" / "burst").mkdir()
    (copy / "lab" / "studies" / "burst" / "__init__.py").touch()
    for path, text in files:
        (copy / path).write_text(text, encoding="utf-8")
    line = '"burst": "lab.studies.burst",'
    assert f"`{line}`" in guide
    edited_registry(copy, {"    {\n": f"    {{\n        {line}\n"})
    assert "{burst|" in run_in(copy, "-c", BUILD_ALL)
    said = run_in(
        copy, "-m", "lab.cli.command_line", "reproduce", "burst", "--quick", "--processes", "1"
    )
    assert "of 1 claims hold." in said  # few sessions: it may be undecided
    (report,) = (copy / "results").glob("*-reproduce-burst-quick/report.html")
    text = report.read_text(encoding="utf-8")
    assert "Each run has 300 sessions. This is the quick grid: fewer sessions." in text
    assert "A queue of 5 or 100 places" in text
