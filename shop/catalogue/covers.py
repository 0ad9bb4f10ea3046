"""Drawings of book covers as SVG; a book always gets the same cover."""

import random
import textwrap
from collections.abc import Callable
from html import escape

DESIGN_VERSION = "c2"
WIDTH, HEIGHT = 240, 360
_ART_TOP, _ART_HEIGHT = 150, 172  # the drawing does not overlap title and author

# Ground, ink, first accent, second accent; ink on ground has a contrast of at least 4.5:1.
_PALETTES = (
    ("#14213d", "#f8f4e9", "#fca311", "#4f7cac"),
    ("#f4ecdc", "#2b2118", "#c8553d", "#588b8b"),
    ("#1b4332", "#f1faee", "#95d5b2", "#f4a261"),
    ("#5f0f40", "#fff1e6", "#fb8b24", "#e36588"),
    ("#e9f1f7", "#12263a", "#3d7ea6", "#f26430"),
    ("#2d2a32", "#fafdf6", "#ddd92a", "#8d86c9"),
    ("#fbe9d0", "#3c1518", "#a44200", "#69140e"),
    ("#003049", "#fdf0d5", "#d62828", "#669bbc"),
    ("#e8e4da", "#22333b", "#7f5539", "#5e8c61"),
    ("#31263e", "#f6e8ea", "#ef626c", "#84dccf"),
)


def cover_svg(book_id: int, title: str, author: str, shelf: str) -> str:
    """Return the cover as a complete SVG document, with a title for screen readers."""
    rng = random.Random(f"{book_id} {shelf}")
    ground, ink, first, second = rng.choice(_PALETTES)
    art = rng.choice(_DESIGNS)(rng, first, second, ink)
    words = title.upper() if rng.random() < 0.3 else title
    lines = textwrap.wrap(words, 13, break_long_words=False, break_on_hyphens=False)
    size = 29 if len(lines) < 4 and max(map(len, lines)) < 12 else 23
    leading = size + 4
    text = "".join(
        f'<text x="20" y="{50 + i * leading}">{escape(line)}</text>' for i, line in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
        f"<title>{escape(title)} by {escape(author)}</title>"
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{ground}"/>'
        f'<svg y="{_ART_TOP}" width="{WIDTH}" height="{_ART_HEIGHT}" '
        f'viewBox="0 {_ART_TOP} {WIDTH} {_ART_HEIGHT}">{art}</svg>'
        f'<g fill="{ink}" font-family="Georgia,\'Times New Roman\',serif">'
        f'<g font-size="{size}" font-weight="700">{text}</g>'
        f'<text x="20" y="{HEIGHT - 22}" font-size="15" letter-spacing=".6">{escape(author)}</text>'
        f'</g><rect width="7" height="{HEIGHT}" fill="#000" opacity=".14"/></svg>'
    )


def _sun(rng: random.Random, first: str, second: str, ink: str) -> str:
    x, r = rng.randint(60, 180), rng.randint(38, 62)
    hills = "".join(
        f'<path d="M0 {y} Q{rng.randint(30, 110)} {y - rng.randint(25, 60)} {rng.randint(120, 160)}'
        f' {y} T240 {y - 12} V360 H0Z" fill="{second}" opacity="{opacity}"/>'
        for y, opacity in ((268, ".45"), (290, ".6"), (310, ".35"))
    )
    return f'<circle cx="{x}" cy="228" r="{r}" fill="{first}"/>{hills}'


def _rings(rng: random.Random, first: str, second: str, ink: str) -> str:
    x, y = rng.randint(70, 210), rng.randint(215, 260)
    return "".join(
        f'<circle cx="{x}" cy="{y}" r="{r}" fill="none" stroke="{first if r % 3 else second}" '
        f'stroke-width="{rng.choice((3, 5, 8))}" opacity=".85"/>'
        for r in range(14, 105, 15)
    )


def _tiles(rng: random.Random, first: str, second: str, ink: str) -> str:
    parts = []
    for row in range(4):
        for column in range(5):
            x, y = column * 48, 150 + row * 42
            turn = rng.choice((0, 90, 180, 270))
            colour = rng.choice((first, second, ink))
            opacity = ".25" if colour == ink else ".9"
            parts.append(
                f'<path d="M-24-21H24A48 42 0 0 1-24 21Z" fill="{colour}" opacity="{opacity}" '
                f'transform="translate({x + 24} {y + 21}) rotate({turn})"/>'
            )
    return f'<g transform="scale(1 .98)">{"".join(parts)}</g>'


def _stripes(rng: random.Random, first: str, second: str, ink: str) -> str:
    shift = rng.randint(0, 40)
    return "".join(
        f'<path d="M{x} 330L{x + 110} 170h{w}L{x + w} 330Z" fill="{c}" opacity=".9"/>'
        for x, w, c in (
            (shift - 90, 22, first),
            (shift - 50, 10, second),
            (shift - 5, 34, first),
            (shift + 62, 8, second),
            (shift + 96, 20, first),
        )
    )


def _leaves(rng: random.Random, first: str, second: str, ink: str) -> str:
    leaves = "".join(
        f'<path d="M0 0C14-22 44-24 58 0C44 22 14 20 0 0Z" fill="{first if i % 2 else second}" '
        f'transform="translate(120 {318 - i * 24}) rotate({side * rng.randint(20, 50) + base})"/>'
        for i, (side, base) in enumerate([(-1, 0), (1, 180), (-1, 0), (1, 180), (-1, 0), (-1, -40)])
    )
    return f'<path d="M120 335V178" stroke="{ink}" stroke-width="3"/>{leaves}'


def _windows(rng: random.Random, first: str, second: str, ink: str) -> str:
    lit = "".join(
        f'<rect x="{64 + column * 32}" y="{190 + row * 32}" width="18" height="20" rx="2" '
        f'fill="{first if rng.random() < 0.4 else ink}" '
        f'opacity="{rng.choice((".9", ".3", ".3"))}"/>'
        for row in range(4)
        for column in range(4)
    )
    return f'<path d="M50 322V184l70-32 70 32V322Z" fill="{second}" opacity=".55"/>{lit}'


_DESIGNS: tuple[Callable[[random.Random, str, str, str], str], ...] = (
    _sun,
    _rings,
    _tiles,
    _stripes,
    _leaves,
    _windows,
)
