"""Tables 1 to 4 as the authors printed them, by class of request and column.

Owns: reading them from published.toml in the shape the report prints. Must not know: results.
"""

from collections.abc import Callable, Mapping, Sequence

from lab.experiments.published import published
from lab.experiments.reproduction.connection_sentry_cases import CLASSES, Cell

Label = Callable[[Cell], str]
Printed = Mapping[tuple[str, str], tuple[float, float]]
"""Class of request and label of the cell → the published figures of X and S."""


def printed(table: str, cells: Sequence[Cell], label: Label) -> Printed:
    """The published figures of these cells; `table` is a key of published.toml."""
    by_class = published()["connection_sentry"][table]
    found = {}
    for cell in cells:
        column = f"{cell.per_set}" if "processes" in table else f"{cell.patience_max_s:g}"
        for kind in CLASSES:
            without, with_ = by_class[kind][column]
            found[kind, label(cell)] = (without, with_)
    return found


def figure_of(figures: Printed, kind: str, column: str, i: int) -> float | None:
    """Of X (0) or S (1); None where nothing was printed."""
    found = figures.get((kind, column))
    return None if found is None else found[i]


def ratio_of(figures: Printed, kind: str, column: str) -> float | None:
    """S / X; None where nothing was printed."""
    found = figures.get((kind, column))
    return None if found is None else found[1] / found[0]
