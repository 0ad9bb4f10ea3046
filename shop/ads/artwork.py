"""Drawings of banners as SVG; a banner always gets the same drawing."""

import random
from html import escape

from shop.ads.inventory import SIZES

DESIGN_VERSION = "b1"

# Ground, ink, accent, ink on the accent; both inks have a contrast of at least 4.5:1.
_PALETTES = (
    ("#14213d", "#f8f4e9", "#fca311", "#14213d"),
    ("#f4ecdc", "#2b2118", "#a23b27", "#ffffff"),
    ("#1b4332", "#f1faee", "#95d5b2", "#123524"),
    ("#5f0f40", "#fff1e6", "#fb8b24", "#3a0927"),
    ("#e9f1f7", "#12263a", "#2a6486", "#ffffff"),
    ("#2d2a32", "#fafdf6", "#ddd92a", "#2d2a32"),
    ("#fbe9d0", "#3c1518", "#8a3a00", "#ffffff"),
    ("#003049", "#fdf0d5", "#f2b84b", "#003049"),
)
_SERIF = "Georgia,'Times New Roman',serif"
_SANS = "system-ui,'Segoe UI',Roboto,'DejaVu Sans',sans-serif"
# The maximum width of the letters of these typefaces, in multiples of the font size; text is shrunk
# to fit.
_WIDE, _NARROW, _CAPITAL, _USUAL = 1.05, 0.38, 0.8, 0.62
# Bold serifs are wider; DejaVu's letters are the widest.
_BOLD_SERIF = 1.13
_CALL = "Have a look"


def banner_svg(banner_id: int, size: str, headline: str, text: str, advertiser: str) -> str:
    """Return the banner as a complete SVG document, with a title for screen readers."""
    width, height = SIZES[size]
    rng = random.Random(f"{DESIGN_VERSION} {advertiser} {banner_id}")
    ground, ink, accent, accent_ink = rng.choice(_PALETTES)
    draw = _wide if width >= 2 * height else _tall
    inside = draw(width, height, headline, text, advertiser, (ink, accent, accent_ink), rng)
    title = escape(wording(headline, text, advertiser))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img"><title>{title}</title>'
        f'<rect width="{width}" height="{height}" fill="{ground}"/>{inside}'
        f'<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" fill="none" '
        f'stroke="{ink}" stroke-opacity=".25"/></svg>'
    )


def wording(headline: str, text: str, advertiser: str) -> str:
    """Return the banner's texts as sentences; `text` may be empty."""
    said = (part for part in (headline, text, advertiser) if part)
    return " ".join(part if part.endswith((".", "!", "?")) else f"{part}." for part in said)


_Colours = tuple[str, str, str]


def _wide(
    width: int,
    height: int,
    headline: str,
    text: str,
    advertiser: str,
    colours: _Colours,
    rng: random.Random,
) -> str:
    ink, accent, accent_ink = colours
    margin = height * 0.2
    button = 0.0 if width < 5 * height else height * 1.75
    left = height * 1.05
    room = width - left - margin - (button + margin if button else 0)
    large, small = height * 0.32, height * 0.2
    parts = [
        _emblem(height / 2, height / 2, height * 0.34, accent, rng),
        _line(left, height * 0.46, headline, large, room, ink, serif=True),
        _line(left, height * 0.76, text or advertiser, small, room, ink, faded=bool(text)),
    ]
    if button:
        x, tall = width - button - margin, height * 0.5
        parts.append(_button(x, (height - tall) / 2, button, tall, accent, accent_ink))
    return "".join(parts)


def _tall(
    width: int,
    height: int,
    headline: str,
    text: str,
    advertiser: str,
    colours: _Colours,
    rng: random.Random,
) -> str:
    ink, accent, accent_ink = colours
    narrow = min(width, height)
    is_column = height > 2 * width
    margin = narrow * 0.09
    room = width - 2 * margin
    radius = narrow * (0.36 if is_column else 0.1)
    large = max(15.0, narrow * (0.15 if is_column else 0.105))
    small = max(11.0, narrow * (0.085 if is_column else 0.06))
    if is_column:  # words at the top, the emblem in the middle
        parts = [_emblem(width / 2, height * 0.6, radius, accent, rng)]
        y = margin + large
    else:
        parts = [_emblem(margin + radius, margin + radius, radius, accent, rng)]
        y = margin + 2 * radius + large * 1.2
    tall = max(22.0, narrow * 0.14)
    foot = height - margin - tall
    for words in _broken(headline, room / _BOLD_SERIF, large):
        parts.append(_line(margin, y, words, large, room, ink, serif=True))
        y += large * 1.15
    y += small * 0.4
    for words in _broken(text, room, small):
        if y > foot - small * 0.7:
            break
        parts.append(_line(margin, y, words, small, room, ink, faded=True))
        y += small * 1.4
    if y < foot + small * 1.4:
        parts.append(_button(margin, foot, min(room, tall * 4.2), tall, accent, accent_ink))
    return "".join(parts)


def _line(
    x: float,
    y: float,
    words: str,
    size: float,
    room: float,
    ink: str,
    *,
    serif: bool = False,
    faded: bool = False,
) -> str:
    """Return the SVG of a line of text; the font is smaller if the line is wider than `room`."""
    wide = _width(words) * (_BOLD_SERIF if serif else 1.0)
    size = min(size, room / max(1.0, wide))
    face = f'{_SERIF}" font-weight="700' if serif else _SANS
    opacity = ' fill-opacity=".86"' if faded else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-family="{face}" font-size="{size:.1f}" '
        f'fill="{ink}"{opacity}>{escape(words)}</text>'
    )


def _button(x: float, y: float, wide: float, tall: float, accent: str, ink: str) -> str:
    size = min(tall * 0.46, wide * 0.9 / _width(_CALL))
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{tall:.1f}" '
        f'rx="{tall / 2:.1f}" fill="{accent}"/>'
        f'<text x="{x + wide / 2:.1f}" y="{y + tall / 2 + size * 0.35:.1f}" text-anchor="middle" '
        f'font-family="{_SANS}" font-weight="600" font-size="{size:.1f}" fill="{ink}">'
        f"{_CALL}</text>"
    )


def _emblem(x: float, y: float, radius: float, accent: str, rng: random.Random) -> str:
    kind = rng.randrange(3)
    ring = (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{accent}" fill-opacity=".18"/>'
    )
    stroke = (
        f'fill="none" stroke="{accent}" stroke-width="{radius * 0.14:.1f}" '
        'stroke-linejoin="round" stroke-linecap="round"'
    )
    r = radius * 0.56
    if kind == 0:  # an open book
        return ring + (
            f'<path d="M{x:.1f} {y - r * 0.5:.1f}Q{x - r * 0.5:.1f} {y - r:.1f} {x - r:.1f} '
            f"{y - r * 0.6:.1f}V{y + r * 0.7:.1f}Q{x - r * 0.5:.1f} {y + r * 0.3:.1f} {x:.1f} "
            f"{y + r * 0.8:.1f}Q{x + r * 0.5:.1f} {y + r * 0.3:.1f} {x + r:.1f} {y + r * 0.7:.1f}"
            f"V{y - r * 0.6:.1f}Q{x + r * 0.5:.1f} {y - r:.1f} {x:.1f} {y - r * 0.5:.1f}"
            f'V{y + r * 0.8:.1f}" {stroke}/>'
        )
    if kind == 1:  # a sun over a hill
        return ring + (
            f'<circle cx="{x:.1f}" cy="{y - r * 0.1:.1f}" r="{r * 0.45:.1f}" fill="{accent}"/>'
            f'<path d="M{x - r:.1f} {y + r * 0.75:.1f}Q{x:.1f} {y - r * 0.1:.1f} {x + r:.1f} '
            f'{y + r * 0.75:.1f}" {stroke}/>'
        )
    waves = "".join(
        f"M{x - r:.1f} {y + r * step:.1f}q{r * 0.5:.1f} {-r * 0.5:.1f} {r:.1f} 0t{r:.1f} 0"
        for step in (-0.4, 0.1, 0.6)
    )
    return ring + f'<path d="{waves}" {stroke}/>'


def _width(text: str) -> float:
    """Return an upper bound of the text's width, in multiples of the font size."""
    return sum(
        _WIDE if letter in "MWmw@%—" or letter > "\u024f"  # not Latin: an ideograph is a square
        else _NARROW if letter in "ijl.,:;'’!|ftr ()[]"
        else _CAPITAL if letter.isupper() else _USUAL
        for letter in text
    )  # fmt: skip


def _broken(text: str, room: float, size: float) -> list[str]:
    """Split the text into lines that are at most `room` wide; a wider word gets a separate line."""
    lines: list[str] = []
    for word in text.split():
        if lines and _width(f"{lines[-1]} {word}") * size <= room:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return lines
