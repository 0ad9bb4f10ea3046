"""Parse the text of a spec, which must be TOML of limited size and depth.

The parser of the standard library is slow for long dotted keys, recurses for each bracket, and
fails on numbers with thousands of digits. A scan in linear time therefore refuses such texts first.
"""

import json
import re
import tomllib
from collections.abc import Mapping
from itertools import accumulate
from typing import Any, Final

from lab.errors import SpecError

MOST_BYTES: Final = 1024 * 1024
"""The maximum size of a spec in bytes of UTF-8."""
MOST_WORD: Final = 64
"""The maximum number of characters in a key or a number."""
MOST_PARTS: Final = 6
"""The maximum number of parts in a dotted key; keys of specs have at most three."""
MOST_DEPTH: Final = 12
"""The maximum depth of nested brackets."""

_LITERAL = re.compile(
    r'"""(?:[^\\"]++|\\.|"(?!""))*+(?:"{3,5})?'
    r"|'''(?:[^']++|'(?!''))*+(?:'{3,5})?"
    r'|"(?:[^"\\\n]++|\\[^\n])*+"?'
    r"|'[^'\n]*+'?"
    r"|#[^\n]*+",
    re.S,
)
"""The pattern of a string or a comment; with possessive quantifiers, a match takes linear time."""
_LONG = re.compile(rf"[\w+.:-]{{{MOST_WORD + 1},}}+")
_PARTS = re.compile(rf'(?:(?:[\w-]++|"")[ \t]*+\.[ \t]*+){{{MOST_PARTS},}}+')
_DEPTH: Final = {"[": 1, "{": 1, "]": -1, "}": -1}


def parse(text: str, origin: str) -> dict[str, Any]:
    """Return the values in `text`; raises SpecError if it is not TOML or exceeds a limit."""
    _check(text, origin)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as fault:
        raise SpecError(origin, f"not TOML: {str(fault)[:200]}") from None


def as_json(asked: Mapping[str, str]) -> Any:
    """Return the result of `parse` as JSON values, for `common.bounded`."""
    return json.loads(json.dumps(parse(asked["text"], asked["origin"]), default=str))


def _check(text: str, origin: str) -> None:
    size_bytes = len(text.encode("utf-8", "replace"))
    if size_bytes > MOST_BYTES:
        raise SpecError(origin, f"{size_bytes:,} bytes", allowed=f"at most {MOST_BYTES:,}")
    bare = _LITERAL.sub(lambda found: "" if found[0][0] == "#" else '""', text)
    if found := _LONG.search(bare):
        raise SpecError(
            origin,
            f"{found[0]:.30}…: has {len(found[0]):,} characters",
            allowed=f"keys and numbers of at most {MOST_WORD}",
        )
    if found := _PARTS.search(bare):
        raise SpecError(
            origin,
            f"key {found[0]:.30}…: has more than {MOST_PARTS} parts",
            allowed=f"at most {MOST_PARTS} names with dots between them",
        )
    steps = (_DEPTH[bracket] for bracket in re.findall(r"[][{}]", bare))
    if max(accumulate(steps), default=0) > MOST_DEPTH:
        raise SpecError(
            origin, "brackets are nested too deeply", allowed=f"at most {MOST_DEPTH} levels"
        )
