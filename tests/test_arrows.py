"""The arrows of docs/architecture.md, *Packages*, hold in the code.

Every import is read from the source, so one inside a function counts as well.
"""

import ast
import graphlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent

# part: the packages of the project that it may import besides itself
ARROWS: dict[str, set[str]] = {
    "common": set(),
    "gateway/policies": set(),
    "gateway": {"common", "gateway.policies"},
    "shop": {"common"},
    "hosting": {"common", "gateway", "runtime"},
    "loadgen": {"common"},
    "simulator": {"common", "gateway.policies", "loadgen"},
    "lab": {"common", "gateway", "hosting", "loadgen", "simulator", "runtime"},
    "lab/console": {"common", "lab", "gateway", "runtime"},
    "runtime": {"common"},
    "doorbuster": {"common", "runtime"},
}
PARTS = {part.split("/")[0] for part in ARROWS}

# packages and modules of the lab; each imports only those before it
FLOORS = (
    ("errors", "intervals", "wording"),
    ("files",),
    ("machine",),
    ("executors",),
    ("baselines",),
    ("spec",),
    ("engines",),
    ("results",),
    ("analysis",),
    ("bundle",),
    ("lessons",),
    ("playground",),
    ("database",),
    ("report",),
    ("runner",),
    ("studies",),
    ("leaderboard",),
    ("students",),
    ("cli",),
    ("console",),
)
MOST_MODULES = 20
"""In one folder."""


def imports(path: Path) -> Iterator[str]:
    """The full dotted names a module imports; `from a import b` is both `a` and `a.b`."""
    package = path.relative_to(REPOSITORY).parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def modules(part: str) -> list[Path]:
    """The part's own modules, without those of a part inside it."""
    inner = [REPOSITORY / other for other in ARROWS if other.startswith(part + "/")]
    return [
        path
        for path in sorted((REPOSITORY / part).rglob("*.py"))
        if not any(path.is_relative_to(folder) for folder in inner)
    ]


def within(name: str, allowed: str) -> bool:
    return name == allowed or name.startswith(allowed + ".")


@pytest.mark.parametrize("part", ARROWS)
def test_a_part_imports_only_what_its_arrows_allow(part: str) -> None:
    allowed = {part.replace("/", "."), *ARROWS[part]}
    forbidden = [
        f"{path.relative_to(REPOSITORY)} imports {name}"
        for path in modules(part)
        for name in imports(path)
        if name.split(".")[0] in PARTS and not any(within(name, one) for one in allowed)
    ]
    assert forbidden == []


@pytest.mark.parametrize("part", ["common", "gateway", "hosting", "loadgen", "simulator", "lab"])
def test_only_sites_know_django(part: str) -> None:
    assert [
        f"{path.relative_to(REPOSITORY)} imports {name}"
        for path in modules(part)
        for name in imports(path)
        if within(name, "django")
    ] == []


def test_policies_import_the_standard_library_and_each_other_only() -> None:
    foreign = [
        f"{path.relative_to(REPOSITORY)} imports {name}"
        for path in modules("gateway/policies")
        for name in imports(path)
        if name.split(".")[0] not in sys.stdlib_module_names
        and not within(name, "gateway.policies")
    ]
    assert foreign == []


def test_policies_touch_no_clock_no_socket_and_no_shared_randomness() -> None:
    impure = {"asyncio", "os", "random.random", "selectors", "socket", "subprocess", "time"}
    found = [
        f"{path.relative_to(REPOSITORY)} imports {name}"
        for path in modules("gateway/policies")
        for name in imports(path)
        if any(within(name, one) for one in impure)
    ]
    assert found == []


def project_imports(*parts: str) -> dict[str, set[str]]:
    """Each module of these parts and the modules of them that it imports, in functions too."""
    names = {}
    for part in parts:
        for path in sorted((REPOSITORY / part).rglob("*.py")):
            words = path.relative_to(REPOSITORY).with_suffix("").parts
            names[".".join(words[:-1] if words[-1] == "__init__" else words)] = path
    found: dict[str, set[str]] = {}
    for name, path in names.items():
        each = set(imports(path))
        owners = {one.rpartition(".")[0] for one in each if one not in names}
        found[name] = {one for one in each | owners if one in names} - {name, *parts}
    return found


def whole_project() -> dict[str, set[str]]:
    """The imports of every package of the project except the tests."""
    packages = {path.parent.name for path in REPOSITORY.glob("*/__init__.py")} - {"tests"}
    assert packages >= PARTS
    return project_imports(*sorted(packages))


def lab_imports() -> dict[str, set[str]]:
    """The imports of the lab."""
    return project_imports("lab")


def test_the_lab_imports_only_floors_before() -> None:
    """A package of the lab imports no package of a later floor."""
    floor_of = {name: floor for floor, names in enumerate(FLOORS) for name in names}
    assert [
        f"{module} imports {imported}"
        for module, found in lab_imports().items()
        for imported in sorted(found)
        if module != "lab" and floor_of[imported.split(".")[1]] > floor_of[module.split(".")[1]]
    ] == []


def test_only_one_package_of_the_lab_draws() -> None:
    """Every picture of the lab comes from `lab/report/drawing`."""
    assert [
        f"{path.relative_to(REPOSITORY)} imports {name}"
        for path in modules("lab") + modules("lab/console")
        for name in imports(path)
        if within(name, "matplotlib")
        and not path.is_relative_to(REPOSITORY / "lab" / "report" / "drawing")
    ] == []


def test_no_engine_imports_another() -> None:
    """What two engines need is in `lab/engines` itself, next to their folders."""
    engines = {f"lab.engines.{path.parent.name}" for path in REPOSITORY.glob("lab/engines/*/*.py")}
    assert [
        f"{module} imports {imported}"
        for module, found in lab_imports().items()
        for imported in sorted(found)
        for engine in engines
        if within(imported, engine)
        and module.startswith("lab.engines.")
        and not within(module, engine)
    ] == []


def check_no_cycle(arrows: dict[str, set[str]]) -> None:
    try:
        graphlib.TopologicalSorter(arrows).prepare()
    except graphlib.CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_no_modules_import_each_other() -> None:
    """No chain of imports leads back to where it began."""
    check_no_cycle(
        {
            module: {one for one in found if not within(module, one)}
            for module, found in whole_project().items()
        }
    )


def test_no_two_folders_or_modules_of_a_folder_import_each_other() -> None:
    """The contents of each folder of the project, and the packages themselves, are in an order."""
    folders: dict[str, dict[str, set[str]]] = {}
    for module, found in whole_project().items():
        for imported in found:
            here, there = module.split("."), imported.split(".")
            pairs = zip(here, there, strict=False)
            apart = next((at for at, (one, other) in enumerate(pairs) if one != other), None)
            if apart is not None:  # neither is a package around the other
                arrows = folders.setdefault(".".join(here[:apart]), {})
                arrows.setdefault(here[apart], set()).add(there[apart])
    assert len(folders) > 20
    for arrows in folders.values():
        check_no_cycle(arrows)


@pytest.mark.parametrize(
    "part", sorted({part.split("/")[0] for part in ARROWS} | {"bench", "dashboards"})
)
def test_no_folder_has_too_many_modules(part: str) -> None:
    """A folder is a chapter: at most twenty modules."""
    folders = {path.parent for path in (REPOSITORY / part).rglob("*.py")}
    assert {
        str(folder.relative_to(REPOSITORY)): number
        for folder in sorted(folders)
        if (number := len(list(folder.glob("[!_]*.py")))) > MOST_MODULES
        if folder != REPOSITORY / "gateway" / "policies"  # a module for each policy
    } == {}


def test_the_table_is_that_of_the_documentation() -> None:
    document = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    documented = {
        line.split("|")[1].strip().strip("`")
        for line in document.splitlines()
        if line.startswith("| `")
    }
    assert set(ARROWS) == documented


def test_the_reader_of_imports_sees_every_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "REPOSITORY", tmp_path)
    module = tmp_path / "shop" / "views" / "page.py"
    module.parent.mkdir(parents=True)
    module.write_text(
        "import gateway.clock\n"
        "from gateway import limits\n"
        "from . import frame\n"
        "from ..models import Book\n"
        "def late():\n    import lab.report as l\n"
    )
    assert set(imports(module)) == {
        "gateway.clock",
        "gateway.limits",
        "shop.views.frame",
        "shop.models.Book",
        "lab.report",
    }
