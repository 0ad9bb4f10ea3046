"""The registry of the console's pages. To add a page, create its folder and add one line here."""

from dataclasses import dataclass
from pathlib import Path

CONSOLE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Page:
    """The folder in `lab.console` with one page: its URLs, views, templates and static files."""

    folder: str
    address: str
    title: str = ""
    """The page's name in the navigation; empty if the navigation does not show the page."""
    also: tuple[str, ...] = ()
    """Other addresses for which the navigation highlights this page."""
    apart: tuple[str, ...] = ()
    """Addresses below this page's address for which the navigation highlights no page."""
    is_teachers: bool = False
    """Whether the navigation shows the page only to teachers. If the lab has no accounts, the
    navigation does not show such a page.
    """

    @property
    def urls(self) -> str:
        return f"lab.console.{self.folder}.views"


PAGES = (
    Page("gallery", "/", "Experiments", also=("/launch/", "/upload/")),
    Page("lessons", "/lessons/", "Lessons"),
    Page("watch", "/watch/", "Watch"),
    Page("launches", "/launches/", "Queue", also=("/limits/",)),
    Page("results", "/results/", "Results"),
    Page("race", "/race/", "Race"),
    Page("playground", "/playground/", "Playground"),
    Page("leaderboard", "/leaderboard/", "Leaderboard"),
    Page("scoreboard", "/scoreboard/", "Scoreboard"),
    Page("documentation", "/docs/", "Docs"),
    Page(
        "people",
        "/people/",
        "People",
        apart=("/people/login", "/people/logout", "/people/password", "/people/sign-in"),
        is_teachers=True,
    ),
    Page("api", "/tokens/"),
)


def navigation(*, has_people: bool) -> list[tuple[str, str]]:
    """Return the address and the title of each page in the navigation."""
    return [
        (page.address, page.title)
        for page in PAGES
        if page.title and (has_people or not page.is_teachers)
    ]


def page_of(path: str) -> str:
    """Return the address that the navigation highlights at `path`; empty if there is none."""
    for page in PAGES:
        if path.startswith(page.apart):
            return ""
        is_within = path == "/" if page.address == "/" else path.startswith(page.address)
        if is_within or path.startswith(page.also):
            return page.address
    return ""


def folders(name: str) -> list[Path]:
    """Return the folders with this name, `templates` or `static`, of the site and of all pages."""
    places = ("site", *(page.folder for page in PAGES))
    return [folder for place in places if (folder := CONSOLE / place / name).is_dir()]
