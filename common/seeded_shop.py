"""The facts about the seeded shop that its customers need: the accounts, and words for searches."""

from typing import Final

ACCOUNTS: Final = 1000
"""The number of seeded accounts; their numbers begin at 1."""
ACCOUNT_NAME: Final = "customer-%04d"
"""The format of an account's name, for its number."""
PASSWORD: Final = "doorbuster-2005"
"""The password of every seeded account."""
SEARCH_WORDS: Final = (
    "detective",
    "history",
    "letters",
    "night",
    "photograph",
    "secret",
    "spring",
    "stolen",
    "story",
    "street",
)
"""Words from titles and descriptions of the catalogue. A search for one of them finds several pages
of books.
"""
