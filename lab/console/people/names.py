"""Names of people, in the form in which they are compared."""

import unicodedata


def normal(name: str) -> str:
    """Return the name without compatibility characters, as Django's login form reads it."""
    return unicodedata.normalize("NFKC", name)


def key(name: str) -> str:
    """Return a key that is equal for names with other capitals or compatibility characters.

    Blanks around the name do not matter either.
    """
    return normal(normal(name).casefold()).strip()
