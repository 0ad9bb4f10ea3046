"""The pages of the console's navigation, and to which of them every other page belongs.

Owns: these. Must not know: what stands on a page.
"""

GALLERY = "/"
LEADERBOARD = "/leaderboard/"
PAGES = (
    (GALLERY, "Gallery"),
    ("/watch/", "Watch"),
    ("/launches/", "Queue"),
    ("/results/", "Results"),
    ("/race/", "Race"),
    (LEADERBOARD, "Leaderboard"),
)
_OF_GALLERY = ("/launch/", "/upload/")
_OF_LEADERBOARD = "/scoreboard/"


def page_of(path: str) -> str:
    """The page of the navigation that `path` belongs to; empty if it is none's."""
    if path == GALLERY or path.startswith(_OF_GALLERY):
        return GALLERY
    if path.startswith(_OF_LEADERBOARD):
        return LEADERBOARD
    return next((page for page, _ in PAGES[1:] if path.startswith(page)), "")
