"""Spelling suggestions, which replace unknown words by the most similar words of the books."""

import re
from difflib import get_close_matches
from functools import cache

from shop.catalogue.shelves import CLOSINGS, FIRST_NAMES, LAST_NAMES, PLACES, SHELVES

MOST_WORDS = 6
"""The maximum number of words in a search. A longer search gets no suggestion, because each word
costs time.
"""
_LENGTHS = range(4, 21)
_LIKENESS = 0.75
_SLOT = re.compile(r"{\w+}")
_WORD = re.compile(r"[^\W\d_]+")


def corrected(query: str) -> str | None:
    """Return the query's words in lower case, with unknown words replaced by similar known words.

    Return None if no word changes, or if the query has more than MOST_WORDS words. The result has
    no digits and no punctuation.
    """
    words = _WORD.findall(query.lower())
    if not 0 < len(words) <= MOST_WORDS:
        return None
    nearest = [_nearest(word) for word in words]
    return " ".join(nearest) if nearest != words else None


def _nearest(word: str) -> str:
    if len(word) not in _LENGTHS or word in _known_words():
        return word
    return next(iter(get_close_matches(word, _known_words(), n=1, cutoff=_LIKENESS)), word)


@cache
def _known_words() -> dict[str, None]:
    """Return all words of 4 to 20 letters that the texts of books can contain, in a fixed order."""
    texts = [*FIRST_NAMES, *LAST_NAMES, *PLACES, *CLOSINGS]
    for shelf in SHELVES:
        texts += [shelf.name, *shelf.titles, *shelf.subtitles, *shelf.abouts]
        texts += [word for choices in shelf.words.values() for word in choices]
    words = (word.lower() for text in texts for word in _WORD.findall(_SLOT.sub(" ", text)))
    return dict.fromkeys(word for word in words if len(word) in _LENGTHS)
