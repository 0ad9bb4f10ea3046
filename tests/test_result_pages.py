"""Every result page names how its numbers were made, and the overview of results links to it."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
OVERVIEW = REPOSITORY / "docs" / "results" / "README.md"
RESULT_PAGES = sorted(set(OVERVIEW.parent.glob("*.md")) - {OVERVIEW})
ORIGIN = {
    "Command": r"`(make|\.venv/bin/)[^`]+`",
    "Commit": r"\b[0-9a-f]{7,12}\b",
    "Machine": r"\d+ (cores|CPUs|processors)",
    "Date": r"\b20\d\d-\d\d-\d\d\b",
}


@pytest.mark.parametrize("page", RESULT_PAGES, ids=lambda path: path.name)
def test_a_result_page_names_command_commit_machine_and_date(page: Path):
    lines = page.read_text(encoding="utf-8").splitlines()
    origin = [line for line in lines if line.startswith("*Command:*")]
    assert len(origin) == 1, f"{page.name}: one line begins with *Command:*"
    for what, written in ORIGIN.items():
        assert re.search(rf"\*{what}:\* [^*]*{written}", origin[0]), f"{page.name}: {what}"


def test_the_overview_links_to_every_result_page():
    linked = set(re.findall(r"\(([\w-]+\.md)\)", OVERVIEW.read_text(encoding="utf-8")))
    assert {page.name for page in RESULT_PAGES} - linked == set()


def test_the_readme_is_short_and_links_to_the_results():
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= 120
    assert "(docs/results/README.md)" in readme


def documents() -> list[Path]:
    return [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]


def test_links_and_pictures_between_documents_exist():
    """A link to a file of the repository, with or without a heading, leads somewhere."""
    missing = []
    for page in documents():
        text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            path, _, heading = target.partition("#")
            if "://" in target or target.startswith("mailto:"):
                continue
            file = (page.parent / path) if path else page
            if not file.exists() or (heading and heading not in headings(file)):
                missing.append(f"{page.relative_to(REPOSITORY)}: {target}")
    assert not missing, "\n".join(missing)


def headings(page: Path) -> set[str]:
    """The names by which a link reaches the headings of a page, as GitHub makes them."""
    if page.suffix != ".md":
        return set()
    lines = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line.lower()).strip().replace(" ", "-") for line in lines}
