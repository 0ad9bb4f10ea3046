"""The figure of docs/architecture.md, from the imports: `python -m tests.architecture_figure`.

Each row of the figure imports from rows below it. An arrow that other arrows imply is left out, and
so are the arrows to `common`, which is the bar at the bottom.
"""

import itertools
from collections.abc import Iterable, Mapping
from statistics import mean
from xml.sax.saxutils import escape

from tests.test_arrows import ARROWS, REPOSITORY, imports, modules, within

FILE = REPOSITORY / "docs" / "images" / "architecture.svg"
LEAF = "common"

WIDTH, BOX, HEIGHT, ROW, MARGIN = 480, 112, 44, 88, 4
LONGEST = 14
"""Letters of a name that fit into one line of a box."""
SIZE = 15
GAP = (WIDTH - 2 * MARGIN - BOX) / 3
"""Distance of the middles of two boxes in a row of four."""

Point = tuple[float, float]


def imported() -> dict[str, set[str]]:
    """Return the parts that each part imports, read from its modules."""
    names = {part.replace("/", "."): part for part in ARROWS}
    found: dict[str, set[str]] = {}
    for part in ARROWS:
        owners = {
            max((own for own in names if within(name, own)), key=len, default="")
            for path in modules(part)
            for name in imports(path)
        }
        found[part] = {names[owner] for owner in owners if owner} - {part}
    return found


def needed(arrows: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return the arrows that no chain of other arrows implies."""

    def below(part: str) -> set[str]:
        return arrows[part].union(*(below(one) for one in arrows[part]))

    return {
        part: {one for one in ends if not any(one in below(other) for other in ends - {one})}
        for part, ends in arrows.items()
    }


def rows(arrows: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the parts in rows, the lowest first: a part is above all that it imports."""

    def height(part: str) -> int:
        return max((height(one) + 1 for one in arrows[part]), default=0)

    heights = {part: height(part) for part in arrows}
    return [
        [part for part in arrows if heights[part] == row]
        for row in range(max(heights.values()) + 1)
    ]


def spread(wanted: Mapping[str, float]) -> dict[str, float]:
    """Return places near the wanted ones, in the same order, that do not overlap."""
    order = sorted(wanted, key=lambda part: (wanted[part], part))
    places: dict[str, float] = {}
    least, most = MARGIN + BOX / 2, WIDTH - MARGIN - BOX / 2
    for number, part in enumerate(order):
        left = least if not places else places[order[number - 1]] + GAP
        right = most - GAP * (len(order) - 1 - number)
        places[part] = min(max(wanted[part], left), right)
    return places


def placed(lowest: Iterable[str], arrows: Mapping[str, set[str]]) -> dict[str, Point]:
    """Return the middle of each box, for this order of the lowest row."""
    [_, *upper] = levels = rows(arrows)
    bottom = (len(levels) - 1) * ROW + HEIGHT / 2 + MARGIN
    first = spread({part: MARGIN + BOX / 2 + GAP * number for number, part in enumerate(lowest)})
    found = {part: (x, bottom) for part, x in first.items()}
    for number, row in enumerate(upper, start=1):
        wanted = {part: mean(found[one][0] for one in arrows[part]) for part in row}
        found |= {part: (x, bottom - number * ROW) for part, x in spread(wanted).items()}
    return found


def faults(found: Mapping[str, Point], arrows: Mapping[str, set[str]]) -> float:
    """Return how hard a figure is to read: arrows through boxes, crossings, slanted arrows."""
    lines = [(found[part], found[one]) for part, ends in arrows.items() for one in ends]
    through = 0
    for (x, y), (to_x, to_y) in lines:
        for box_x, box_y in found.values():
            if y < box_y < to_y:
                at = x + (to_x - x) * (box_y - y) / (to_y - y)
                through += abs(at - box_x) < BOX / 2 + 8
    crossings = sum(
        (a[0] - c[0]) * (b[0] - d[0]) < 0 and a[1] == c[1] and b[1] == d[1]
        for (a, b), (c, d) in itertools.combinations(lines, 2)
    )
    return 10_000 * through + 1_000 * crossings + sum(abs(a[0] - b[0]) for a, b in lines)


def drawn() -> str:
    """Return the figure as SVG; its colours are readable on white and on black."""
    arrows = {part: ends - {LEAF} for part, ends in imported().items() if part != LEAF}
    kept = needed(arrows)
    orders = itertools.permutations(rows(kept)[0])
    found = min((placed(order, kept) for order in orders), key=lambda one: faults(one, kept))
    height = max(y for _, y in found.values()) + ROW + HEIGHT / 2 + MARGIN
    words = "; ".join(
        f"{part} imports {', '.join(sorted(ends))}" for part, ends in kept.items() if ends
    )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" '
        f'width="{WIDTH}" role="img" aria-labelledby="title description">',
        '<title id="title">The packages of Doorbuster and the arrows between them</title>',
        f'<desc id="description">{escape(words)}. '
        f"Every package except the policies may import {LEAF}.</desc>",
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" '
        'markerHeight="8" orient="auto"><path d="M0 1 10 5 0 9z" fill="#7d8790"/></marker></defs>',
    ]
    for part, ends in kept.items():
        for one in sorted(ends):
            (x, y), (to_x, to_y) = found[part], found[one]
            lines.append(
                f'<path d="M{x:g} {y + HEIGHT / 2:g} {to_x:g} {to_y - HEIGHT / 2 - 2:g}" '
                'stroke="#7d8790" stroke-width="2" fill="none" marker-end="url(#tip)"/>'
            )
    for part, (x, y) in found.items():
        lines += box(part, x, y, BOX, "#2b6cb0")
    lines += box(
        f"{LEAF}: for every package except the policies",
        WIDTH / 2,
        height - HEIGHT / 2 - MARGIN,
        WIDTH - 2 * MARGIN,
        "#5b6570",
    )
    return "\n".join([*lines, "</svg>", ""])


def box(part: str, x: float, y: float, width: float, colour: str) -> Iterable[str]:
    """Yield the box of a part, with its name."""
    yield (
        f'<rect x="{x - width / 2:g}" y="{y - HEIGHT / 2:g}" width="{width:g}" '
        f'height="{HEIGHT}" rx="6" fill="{colour}"/>'
    )
    words = part.replace("/", "/ ").split() if width == BOX and len(part) > LONGEST else [part]
    for number, text in enumerate(words):
        line = y + 5 + (number - (len(words) - 1) / 2) * (SIZE + 2)
        yield (
            f'<text x="{x:g}" y="{line:g}" text-anchor="middle" fill="#ffffff" '
            f'font-family="sans-serif" font-size="{SIZE}">{escape(text)}</text>'
        )


if __name__ == "__main__":
    FILE.write_text(drawn(), encoding="utf-8")
