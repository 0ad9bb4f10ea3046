"""Every study has the same shape, and can be deleted."""

import ast
import re
import shutil
from pathlib import Path

import pytest

from lab.studies.registry import PAPERS
from lab.studies.study import PaperStudy
from runtime.settings import REPOSITORY
from tests.walks.copies import ProjectCopy

STUDIES = REPOSITORY / "lab" / "studies"
FILES = {"cases.py", "claims.py", "figures.py", "measures.py", "report.md", "study.py"}
MORE = {"ad_server": {"budget.py", "host.py"}}
PARTS = (
    *("bench", "common", "gateway", "hosting", "lab", "loadgen", "runtime", "shop", "simulator"),
    "tests",
)

# Run in a copy of the lab: every study that is left is imported, built and listed.
BUILD_ALL = """
from importlib import import_module
from pathlib import Path
from click.testing import CliRunner
import lab
import django
import os

from doorbuster.commands import main
from lab.cli.estimates import COMMANDS, entries
from lab.cli.reference_results import PARTS
from lab.studies.registry import PAPERS

os.environ["DJANGO_SETTINGS_MODULE"] = "lab.console.site.settings"
django.setup()
from lab.console.gallery.cards import CARDS

assert Path(lab.__file__).is_relative_to(Path.cwd()), lab.__file__
for study in PAPERS.values():
    for engine in study.engines:
        built = study.build(engine, quick=True)
        assert built.figures and list(built.cases())
    if "live" in study.engines:
        assert import_module(f"{study.package}.live").live_study
offered = [one.arguments for one in entries()] + [one.arguments for one in CARDS]
offered += [*COMMANDS, *(part.command for part in PARTS)]
assert {one[1] for one in offered if one[:1] == ("reproduce",)} == set(PAPERS)
said = CliRunner().invoke(main, ["reproduce", "--help"])
assert said.exit_code == 0, said.output
print("".join(said.output.split()))
"""


def folder_of(name: str) -> Path:
    return STUDIES / PAPERS[name].package.rpartition(".")[2]


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


@pytest.mark.parametrize(
    "path",
    ["lab/cli/estimates.py", "lab/cli/reference_results.py", "lab/console/gallery/cards.py"],
)
def test_no_list_of_experiments_names_a_reproduction(path):
    """The lists take the papers and what to show of them from the registry."""
    text = (REPOSITORY / path).read_text(encoding="utf-8")
    assert [name for name in PAPERS if re.search(f'"reproduce-{name}|"reproduce", "', text)] == []


def test_what_lists_show_agrees_with_the_study():
    for name, about in PAPERS.about().items():
        assert about.engine == PAPERS[name].default_engine
        assert {about.engine, about.reference_engine} <= set(PAPERS[name].engines)


def test_a_paper_is_deleted_with_its_folder_and_its_line(tmp_path):
    """The other papers are alike: nothing outside their folders imports them."""
    name, copy = "lifo-pri", ProjectCopy(tmp_path / "copy")
    shutil.rmtree(copy.folder / folder_of(name).relative_to(REPOSITORY))
    copy.replace("lab/studies/registry.py", f'        "{name}": "{PAPERS[name].package}",\n', "")
    listed = copy.python("-c", BUILD_ALL)
    others = "|".join(other for other in PAPERS if other != name)
    assert f"{{{others}}}" in listed
