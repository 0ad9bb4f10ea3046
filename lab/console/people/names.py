"""Names of people, in the form in which they are compared."""

import unicodedata


def normal(name: str) -> str:
    """Return the name without compatibility characters, as Django's login form reads it."""
    return unicodedata.normalize("NFKC", name)


def key(name: str) -> str:
    """Return what is equal for names that differ in capitals, compatibility characters or blanks
    around them."""
    return normal(normal(name).casefold()).strip()
