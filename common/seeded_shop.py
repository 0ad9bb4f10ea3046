"""The facts about the seeded shop that its customers need: accounts, and words that it finds."""

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
"""Words from titles and descriptions of the catalogue; each finds several pages of books."""
