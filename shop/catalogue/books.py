"""The books of the seeded shop.

The default catalogue has 4,309 books, as in the Connection Sentry paper. A larger catalogue adds
books that sell worse. If the title of such a book already exists, the book becomes another volume.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from common.shared_settings import BOOKS
from shop.catalogue.shelves import (
    CLOSINGS,
    FIRST_NAMES,
    LAST_NAMES,
    PLACES,
    PUBLISHERS,
    SHELVES,
    Shelf,
)

SEED = 20000
AUTHORS_PER_SHELF = 70
NEWEST_YEAR = 2026
# One book in 97 is out of stock, as in a real shop. The load generator uses the same rule.
OUT_OF_STOCK_EVERY = 97
TITLE_TRIES = 2_000
STOCK_RANGE = (2_000, 9_000)
_REGISTRANTS = range(900_000_000, 1_000_000_000)

_SMALL_WORDS = frozenset(
    ("a", "an", "and", "at", "by", "for", "from", "in", "of", "on", "or", "the", "to", "with")
)
# A sentence may begin with a quotation mark; a sentence that begins with a number needs no capital
# letter.
_SENTENCE_START = re.compile(r"(?:^|[.?!])[\W_]*[^\W\d_]")
_ORDINALS = ("second", "third", "fourth", "fifth", "seventh", "eleventh")
_BINDINGS = (("paperback", 0.62, 0), ("hardback", 0.26, 900), ("pocket", 0.12, -350))


@dataclass(frozen=True, slots=True)
class NewBook:
    """A new book, with the fields of `shop.models.Book`."""

    id: int
    shelf: str
    title: str
    subtitle: str
    author: str
    description: str
    publisher: str
    published: int
    pages: int
    binding: str
    isbn: str
    price_cents: int
    stock: int
    rating: float
    ratings: int
    sales_rank: int


def isbn13(number: int) -> str:
    """Return the ISBN-13 with the prefix 979, the nine digits of `number` and a check digit."""
    body = f"979{number:09d}"
    total = sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(body))
    return f"{body}{-total % 10}"


def books(seed: int = SEED, count: int = BOOKS) -> Iterator[NewBook]:
    """Yield the first `count` books, whose ids begin at 1. Titles, ISBNs and sales ranks are
    unique.
    """
    rng = random.Random(seed)
    writers = _writers(rng)
    ranks = list(range(1, BOOKS + 1))
    rng.shuffle(ranks)
    registrants = rng.sample(_REGISTRANTS, BOOKS)
    titles = _Titles(rng)
    shares = [shelf.share for shelf in SHELVES]
    registered = set(registrants)
    for id in range(1, count + 1):
        # The first books are spread over the shelves, so that even a small catalogue has a book on
        # each.
        shelf = SHELVES[id - 1] if id <= len(SHELVES) else rng.choices(SHELVES, shares)[0]
        author = writers[shelf.slug][int(AUTHORS_PER_SHELF * rng.random() ** 1.7)]
        if id <= BOOKS:
            title, words = titles.unused(shelf)
            registrant, rank = registrants[id - 1], ranks[id - 1]
        else:
            title, words = titles.of_another_volume(shelf)
            registrant, rank = _unused_registrant(rng, registered), id
        yield _book(rng, id, shelf, author, title, words, registrant, rank)


def _unused_registrant(rng: random.Random, registered: set[int]) -> int:
    while (number := rng.choice(_REGISTRANTS)) in registered:
        pass
    registered.add(number)
    return number


def _writers(rng: random.Random) -> dict[str, list[str]]:
    names = [f"{first} {last}" for first in FIRST_NAMES for last in LAST_NAMES]
    chosen = rng.sample(names, AUTHORS_PER_SHELF * len(SHELVES))
    return {
        shelf.slug: chosen[i * AUTHORS_PER_SHELF : (i + 1) * AUTHORS_PER_SHELF]
        for i, shelf in enumerate(SHELVES)
    }


def _book(
    rng: random.Random,
    id: int,
    shelf: Shelf,
    author: str,
    title: str,
    words: dict[str, str],
    registrant: int,
    rank: int,
) -> NewBook:
    # One set of words for the whole book, so that the description fits the title.
    abouts = rng.sample(shelf.abouts, 2)
    closings = rng.sample(CLOSINGS, rng.choice((1, 1, 2)))
    sentences = [_filled(about, words) for about in abouts]
    sentences += [_filled(closing, _words(rng, shelf)) for closing in closings]
    subtitle = ""
    if shelf.subtitles and rng.random() < 0.7:
        subtitle = _capitalised(_filled(rng.choice(shelf.subtitles), words))
    binding, _, surcharge = rng.choices(_BINDINGS, [weight for _, weight, _ in _BINDINGS])[0]
    pages = max(32, int(rng.gauss(48, 8) if shelf.slug == "children" else rng.gauss(320, 95)))
    price = (600 + pages * 2 + surcharge + rng.randrange(-200, 500)) // 100 * 100
    return NewBook(
        id=id,
        shelf=shelf.slug,
        title=title,
        subtitle=subtitle,
        author=author,
        description=" ".join(_capitalised(sentence) for sentence in sentences),
        publisher=rng.choice(PUBLISHERS),
        published=NEWEST_YEAR - min(64, int(rng.expovariate(1 / 9))),
        pages=pages,
        binding=binding,
        isbn=isbn13(registrant),
        price_cents=max(400, price) - rng.choice((1, 5, 10, 50)),
        stock=0 if id % OUT_OF_STOCK_EVERY == 0 else rng.randint(*STOCK_RANGE),
        rating=round(min(5.0, max(2.4, rng.gauss(4.0, 0.4))), 1),
        ratings=1 + int(rng.paretovariate(0.9) * 12) % 9_000,
        sales_rank=rank,
    )


class _Titles:
    """A generator of titles that no other book has; it also returns the words in each title."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._volumes: dict[str, int] = {}

    def unused(self, shelf: Shelf) -> tuple[str, dict[str, str]]:
        """Return a new title and its words. Raises ValueError if the shelf has too few words."""
        for _ in range(TITLE_TRIES):
            title, words = self._drawn(shelf)
            if title not in self._volumes:
                self._volumes[title] = 1
                return title, words
        raise ValueError(f"The shelf {shelf.slug!r} has too few words for another title.")

    def of_another_volume(self, shelf: Shelf) -> tuple[str, dict[str, str]]:
        """Return any title and its words; an existing title becomes another volume."""
        title, words = self._drawn(shelf)
        volume = self._volumes[title] = self._volumes.get(title, 0) + 1
        return (title if volume == 1 else f"{title}, Volume {volume}"), words

    def _drawn(self, shelf: Shelf) -> tuple[str, dict[str, str]]:
        words = _words(self._rng, shelf)
        return _title_case(_filled(self._rng.choice(shelf.titles), words)), words


def _words(rng: random.Random, shelf: Shelf) -> dict[str, str]:
    """Return a text for every slot in the patterns of the shelf."""
    words = {slot: rng.choice(choices) for slot, choices in shelf.words.items()}
    words["where"] = rng.choice(PLACES)
    words["who"] = f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}"
    words["publisher"] = rng.choice(PUBLISHERS)
    words["edition"] = rng.choice(_ORDINALS)
    return words


def _filled(pattern: str, words: dict[str, str]) -> str:
    return _with_articles(pattern.format_map(words))


def _with_articles(text: str) -> str:
    """Return the text with the right articles: `an orchard`, `a useful lamp`."""
    words = text.split(" ")
    for i, word in enumerate(words[:-1]):
        if word in ("a", "A"):
            following = words[i + 1].lstrip("“(").lower()
            vowel = following[:1] in "aeiou" and not following.startswith(("use", "uni", "one"))
            if vowel or following.startswith(("heir", "honest", "hour")):
                words[i] = word + "n"
    return " ".join(words)


def _capitalised(text: str) -> str:
    return _SENTENCE_START.sub(lambda start: start.group().upper(), text)


def _title_case(text: str) -> str:
    words = text.split(" ")
    return " ".join(
        word if 0 < i < len(words) - 1 and word in _SMALL_WORDS else word[:1].upper() + word[1:]
        for i, word in enumerate(words)
    )
