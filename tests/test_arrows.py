"""The arrows of docs/architecture.md, *Parts and the arrows between them*, hold in the code.

Every import is read from the source, so one inside a function counts as well.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent

# part: what of the project it may import besides itself
ARROWS: dict[str, set[str]] = {
    "gateway/policies": set(),
    "gateway": {"gateway.policies"},
    "shop": set(),
    "hosting": {"gateway.policies", "gateway.processor_protocol", "runtime"},
    "loadgen": set(),
    "simulator": {
        "gateway.policies",
        "loadgen.sessions",
        "loadgen.clients",
        "loadgen.draws",
        "loadgen.attempts",
        "loadgen.partly_open",
        "loadgen.load_schedule",
    },
    "lab/console": {
        "lab.experiments",
        "gateway.policies",
        "gateway.students",
        "runtime.settings",
        "runtime.hosts",
        "runtime.living",
        "runtime.monitoring",
        "runtime.pinned",
        "runtime.answering",
        "runtime.state",
    },
    "lab/experiments": {
        "hosting",
        "loadgen",
        "simulator",
        "runtime.settings",
        "runtime.cpus",
        "runtime.early_signals",
        "runtime.hosts",
        "runtime.own_ad_server",
        "runtime.pinned",
        "runtime.postgres_cpus",
        "runtime.state",
        "gateway.policies",
        "gateway.students",
        "gateway.pages",
    },
    "runtime": set(),
}
PARTS = {part.split("/")[0] for part in ARROWS}


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


@pytest.mark.parametrize("part", ["gateway", "hosting", "loadgen", "simulator", "lab/experiments"])
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


def test_experiments_know_nothing_of_django() -> None:
    found = [
        f"{path.relative_to(REPOSITORY)} imports {name}"
        for path in modules("lab")
        for name in imports(path)
        if path.is_relative_to(REPOSITORY / "lab" / "experiments") and within(name, "django")
    ]
    assert found == []


def test_the_table_is_that_of_the_documentation() -> None:
    document = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    documented = {
        line.split("|")[1].strip().strip("`")
        for line in document.splitlines()
        if line.startswith("| `") and line.count("|") == 4
    }
    parts = {"lab/experiments" if part == "lab" else part for part in ARROWS}
    assert parts <= documented


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
        "def late():\n    import lab.experiments as l\n"
    )
    assert set(imports(module)) == {
        "gateway.clock",
        "gateway.limits",
        "shop.views.frame",
        "shop.models.Book",
        "lab.experiments",
    }
