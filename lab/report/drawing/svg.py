"""Make SVG files smaller by removing details that are too small to see."""

import re
from collections.abc import Iterator

_PATH = re.compile(r'(?<=\sd=")[^"]+')
_TOKEN = re.compile(r"[A-Za-z]|[-+]?[\d.]+(?:e[-+]?\d+)?")
_COMMENT = re.compile(r"<!--.*?-->|<metadata>.*?</metadata>", re.DOTALL)
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_GLYPH = re.compile(
    r'<use xlink:href="([^"]+)" transform="translate\(([-\d.]+)(?: ([-\d.]+))?\)"/>'
)
_LETTERS = re.compile(r"\bDejaVuSans(-Bold|-Oblique)?-(?=[0-9a-f]+\")")
_BETWEEN = re.compile(r">\s+<")
_POINTS = {"M": 1, "L": 1, "Q": 2, "C": 3, "z": 0, "Z": 0}
"""The number of points that follow each path command of matplotlib."""
_SHORT = 40
"""A path with fewer characters than this number stays unchanged."""


def compact_svg(text: str) -> str:
    """Return a matplotlib SVG without metadata, and with relative paths that are exact to a tenth
    of a point. A path with commands that matplotlib does not write stays unchanged."""
    text = _GLYPH.sub(_placed, text)
    text = _LETTERS.sub(lambda found: "g" + (found[1] or "-")[1:2].lower(), text)
    text = _PATH.sub(lambda found: _compact_path(found[0]), _COMMENT.sub("", text))
    text = _LONG_NUMBER.sub(lambda found: _shortened(float(found[0])), text)
    return _BETWEEN.sub("><", text)


def _placed(found: re.Match[str]) -> str:
    """Return a letter with its position as `x` and `y`, which is shorter than `transform`."""
    y = f' y="{found[3]}"' if found[3] and float(found[3]) else ""
    return f'<use xlink:href="{found[1]}" x="{found[2]}"{y}/>'


def _shortened(value: float) -> str:
    """Round a number to two decimals. A number between −1 and 1 is rounded to five significant
    digits instead, because it can be a scale factor for letters."""
    return f"{value:.5g}" if abs(value) < 1 else f"{value:.2f}".rstrip("0").rstrip(".")


def _compact_path(path: str) -> str:
    tokens = _TOKEN.findall(path)
    if len(path) < _SHORT or {one for one in tokens if one.isalpha()} - _POINTS.keys():
        return path
    return "".join(_pieces(tokens))


def _pieces(tokens: list[str]) -> Iterator[str]:
    """Yield the pieces of a path, rounded to a tenth of a point. Each piece is relative to the end
    of the previous piece."""
    at = start = (0, 0)
    place, command = 0, ""
    while place < len(tokens):
        if tokens[place].isalpha():
            command = tokens[place]
            place += 1
        points = []
        for _ in range(_POINTS[command]):
            points.append((round(10 * float(tokens[place])), round(10 * float(tokens[place + 1]))))
            place += 2
        if not points:
            at = start
            yield "z"
            continue
        steps = [(x - at[0], y - at[1]) for x, y in points]
        at = points[-1]
        if command == "M":
            start = at
        if command != "L":
            yield command.lower() + _numbers(steps)
        elif steps[0][1] == 0 != steps[0][0]:
            yield f"h{_number(steps[0][0])}"
        elif steps[0][0] == 0 != steps[0][1]:
            yield f"v{_number(steps[0][1])}"
        elif steps[0] != (0, 0):
            yield "l" + _numbers(steps)


def _numbers(steps: list[tuple[int, int]]) -> str:
    texts = [_number(value) for step in steps for value in step]
    return texts[0] + "".join(one if one.startswith("-") else f" {one}" for one in texts[1:])


def _number(tenths: int) -> str:
    text = f"{tenths / 10:.1f}".removesuffix(".0")
    return re.sub(r"^(-?)0\.", r"\1.", text)
