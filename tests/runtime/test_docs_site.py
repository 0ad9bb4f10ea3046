"""The documentation site is built from `docs/`, and a fault in a page stops the build."""

import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from runtime import docs_site, state
from runtime.settings import REPOSITORY
from tests.programs import python

pytestmark = pytest.mark.slow


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository with the site's settings and three pages."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for name in ("_extensions", "_static", "_templates", "conf.py"):
        source = REPOSITORY / "docs" / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, docs / name)
    icon = Path("lab/console/site/static/console/icon.svg")
    (tmp_path / icon).parent.mkdir(parents=True)
    shutil.copy(REPOSITORY / icon, tmp_path / icon)
    (docs / "index.md").write_text("# A site\n\n```{toctree}\ntutorials\n```\n")
    (docs / "tutorials.md").write_text("# Tutorials\n\n```{toctree}\nfirst\n```\n")
    (docs / "first.md").write_text(
        "# First\n\n[Code](../runtime/native/up.py), [later](#later)\n\n## Later\n"
    )
    for module in (docs_site, state):
        monkeypatch.setattr(module, "REPOSITORY", tmp_path)
    monkeypatch.setattr(docs_site, "SITE", tmp_path / "build/docs")
    monkeypatch.setattr(docs_site, "SOURCES", ("docs",))
    return tmp_path


def test_it_is_built_once_for_the_same_sources(small: Path) -> None:
    assert not docs_site.is_current()
    docs_site.build()
    assert docs_site.is_current()
    page = (small / "build/docs/first.html").read_text(encoding="utf-8")
    assert "runtime/native/up.py" in page
    assert 'href="#later"' in page
    (small / "docs/first.md").write_text("# Another first page\n")
    assert not docs_site.is_current()
    docs_site.build()
    assert "Another first page" in (small / "build/docs/first.html").read_text(encoding="utf-8")
    assert {path.name for path in (small / "build").iterdir()} == {"docs", "docs.lock"}


def test_of_two_builds_at_once_the_second_finds_a_current_site(small: Path) -> None:
    with ThreadPoolExecutor(2) as both:
        built = [both.submit(docs_site.build, if_stale=True) for _ in range(2)]
    assert docs_site.is_current()
    assert sorted(one.result() for one in built) == [False, True]


@pytest.mark.parametrize(
    ("page", "text", "message"),
    [
        ("first.md", "# First\n\n[Away](tutorials.md#nowhere)\n", "nowhere"),
        ("alone.md", "# In no part\n", "in 0 of the four parts"),
    ],
)
def test_a_fault_is_named_and_the_last_site_stays(
    small: Path, page: str, text: str, message: str
) -> None:
    docs_site.build()
    (small / "docs" / page).write_text(text)
    with pytest.raises(docs_site.BuildError, match=message):
        docs_site.build()
    assert (small / "build/docs/first.html").exists()


def test_a_term_leads_to_the_glossary_once_in_a_section(small: Path) -> None:
    (small / "docs/tutorials.md").write_text("# Tutorials\n\n```{toctree}\nfirst\nglossary\n```\n")
    (small / "docs/glossary.md").write_text("# Glossary\n\n## SQ\n\n## Offered load\n\nρ of SQ.\n")
    (small / "docs/first.md").write_text(
        "# First\n\nSQ at ρ = 2, `SQ`, *SQ*; SQ-LIFO.\n\n## Second with SQ\n\n"
        "[The load](glossary.md#offered-load) ρ.\n\n| Policy |\n| --- |\n| SQ |\n"
    )
    docs_site.build()
    page = (small / "build/docs/first.html").read_text(encoding="utf-8")
    links = re.findall(r'<a class="term[^>]* href="([^"]+)" title="[^"]+">([^<]+)</a>', page)
    assert links == [
        ("glossary.html#sq", "SQ"),
        ("glossary.html#offered-load", "ρ"),
        ("glossary.html#sq", "SQ"),
    ]
    glossary = (small / "build/docs/glossary.html").read_text(encoding="utf-8")
    assert 'class="term' not in glossary


def test_every_link_of_the_site_leads_to_a_page_without_a_network() -> None:
    docs_site.build(if_stale=True)
    ids: dict[Path, set[str]] = {}
    broken = []
    for page in docs_site.SITE.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for link in set(re.findall(r'\b(?:href|src)="([^"]+)"', text)):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if not target.is_file():
                broken.append(f"{page.name}: {link}")
            elif parts.fragment and target.suffix == ".html":
                if target not in ids:
                    found = re.findall(r'\bid="([^"]+)"', target.read_text(encoding="utf-8"))
                    ids[target] = set(found)
                if unquote(parts.fragment) not in ids[target]:
                    broken.append(f"{page.name}: {link}")
    assert ids
    assert broken == []


def test_a_page_loads_nothing_from_elsewhere(small: Path) -> None:
    docs_site.build()
    for path in (small / "build/docs").rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert 'src="http' not in text
        assert "<script>" not in text  # the console forbids scripts inside a page


def test_a_current_site_is_not_built_again(tmp_path: Path) -> None:
    program = (
        "from runtime import docs_site\ndocs_site.is_current = lambda: True\ndocs_site.main()\n"
    )
    assert python("-c", program, "--if-stale", check=True).stdout == ""


def test_every_key_of_a_spec_has_a_meaning_on_its_page() -> None:
    """The page takes meanings from its table by their keys."""
    program = "import sys; sys.path.insert(0, 'docs/_extensions'); import spec_keys\n"
    done = python("-c", program + "print(spec_keys.sections())", check=True)
    assert "| `retry_probability` | number, at least 0, at most 1 | `0.4` |" in done.stdout
    bare = [line for line in done.stdout.splitlines() if "a section, whose keys are below" in line]
    assert len(bare) == 2, bare  # `load` and `customers`
