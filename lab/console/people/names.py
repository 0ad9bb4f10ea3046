"""The names of people, in the form in which they are compared."""

import unicodedata


def normal(name: str) -> str:
    """Return the name in the form in which Django's login form reads it: without compatibility
    characters."""
    return unicodedata.normalize("NFKC", name)


def key(name: str) -> str:
    """Return the key by which names are compared; the key ignores capitals, compatibility
    characters, and spaces around the name.
    """
    return normal(normal(name).casefold()).strip()
