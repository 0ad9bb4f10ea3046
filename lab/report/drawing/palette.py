"""The colours of policies. Each policy has the same colour in figures, charts and races.

Every colour has a contrast of at least 3 to 1 with the background of both light and dark pages.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from zlib import crc32

from lab.wording import TITLES

COLOURS = ("#D55E00", "#2A86C4", "#009E73", "#C2649B", "#B97F00", "#7A68D8", "#8A6D3B", "#0097A7",
           "#D43D51", "#7C8B1E")  # fmt: skip
"""The colours: vermilion, blue, green, pink, amber, violet, brown, teal, red, olive."""
MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES = ("-", "--", "-.", ":")

_VERMILION, _BLUE, _GREEN, _PINK, _AMBER, _VIOLET, _BROWN, _TEAL, _RED, _OLIVE = range(len(COLOURS))
_OF_OTHERS = _VIOLET
"""The index of the first colour for policies that are not in `_PLACES`."""
_PLACES = {
    "sq": _VERMILION,
    "8q-af": _BLUE,
    "8q-lifo-pri": _GREEN,
    "door-lifo": _PINK,
    "door-fifo": _AMBER,
    "always-fifo": _RED,
    "always-lifo": _VIOLET,
    "lifo-at-overload": _TEAL,
    "static-stages": _BROWN,
    "pass-through": _OLIVE,
    "fixed-limit": _BROWN,
    "aimd": _OLIVE,
    "gradient2": _BLUE,
    "envoy-adaptive-concurrency": _RED,
    "envoy-admission-control": _VIOLET,
    "codel": _TEAL,
    "dagor": _BROWN,
    "prioritised-rejection": _OLIVE,
    "waiting-room": _BLUE,
    "haproxy": _VIOLET,
    "nginx": _TEAL,
    # An admission policy keeps its colour with every queueing policy behind it.
    "sbac": _VIOLET,
    "sbac-responsive": _BLUE,
    "sbac-stable": _GREEN,
    "sbac-hybrid": _PINK,
    "sbac-predictive": _AMBER,
}
_SHIFTS = {"drop-queued": 5, "cancel": 7}
"""The distance in COLOURS from a policy's colour to its colour for each abandonment."""
_ABANDONMENTS = {"ignore", *_SHIFTS}
_KEYS = {title: key for key, title in TITLES.items()}


class Style(NamedTuple):
    """The style of a line."""

    colour: str
    marker: str
    dash: str


def colour_of(policy: str) -> str:
    """Return the colour of a policy, given as a key, a title, a combination or a label."""
    return COLOURS[_place(policy)]


def is_policy(name: str) -> bool:
    """Return whether a policy or a combination of this project has this key or title."""
    parts = _parts(name)
    return all(part in TITLES for part in parts) and not _ABANDONMENTS.issuperset(parts)


def styles_of(policies: Iterable[str]) -> dict[str, Style]:
    """Return the styles of a figure's lines. Lines of the same colour differ in marker and dash."""
    styles: dict[str, Style] = {}
    for policy in dict.fromkeys(policies):
        place = _place(policy)
        before = sum(style.colour == COLOURS[place] for style in styles.values())
        styles[policy] = _style(place, before)
    return styles


def curve_styles(labels: Sequence[str]) -> dict[str, Style]:
    """Return the styles of `styles_of` if a label names a policy, otherwise those of `numbered`."""
    if any(map(is_policy, labels)):
        return styles_of(labels)
    return {label: numbered(number) for number, label in enumerate(dict.fromkeys(labels))}


def numbered(number: int) -> Style:
    """Return the style of a line that shows no policy. Up to 40 such lines differ in colour or
    dash."""
    return _style(number % len(COLOURS), number // len(COLOURS))


def _style(place: int, before: int) -> Style:
    shifted = place + before
    return Style(COLOURS[place], MARKERS[shifted % len(MARKERS)], DASHES[shifted % len(DASHES)])


def _place(policy: str) -> int:
    parts = _parts(policy)
    known = [_PLACES[part] for part in parts if part in _PLACES]
    if not known or not all(part in TITLES for part in parts):
        return _OF_OTHERS + crc32("+".join(parts).encode()) % (len(COLOURS) - _OF_OTHERS)
    return (known[-1] + sum(_SHIFTS.get(part, 0) for part in parts)) % len(COLOURS)


def _parts(policy: str) -> list[str]:
    if policy in _KEYS:  # a title may contain a plus
        return [_KEYS[policy]]
    return [_KEYS.get(part, part) for part in map(str.strip, policy.split("+"))]
