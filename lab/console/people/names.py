"""Names of people, in the form used for comparisons."""

import unicodedata


def normal(name: str) -> str:
    """Return the name without compatibility characters, as Django's login form reads it."""
    return unicodedata.normalize("NFKC", name)


def key(name: str) -> str:
    """Return a key that ignores capitals and compatibility characters of a name.

    The key also ignores spaces before and after the name.
    """
    return normal(normal(name).casefold()).strip()
