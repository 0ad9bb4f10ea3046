"""The search for the candidates of one concept: the due banners of the wanted size.

Its numpy operations release the interpreter, so two threads can search for two concepts at the same
time (docs/decisions/0012). Source: Diniz et al., section IV.A and Fig. 4, lines 3 to 7.
"""

import threading
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shop.ads.inventory import MOST_CONCEPTS, Inventory, Rows

BLOCK_ROWS = 524_288  # maximum; smaller blocks mean more hand-overs of the interpreter
_NONE = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The conditions that are the same for all concepts of a request: the size of the slot, and the
    time at which the banner must be due.
    """

    size: int
    time_s: float


class _Scratch(threading.local):
    """Each thread's working memory for one block of rows, 16 bytes per row.

    Allocating memory for each search would cost more than the search.
    """

    def __init__(self) -> None:
        self.which = np.empty((MOST_CONCEPTS, BLOCK_ROWS), np.bool_)
        self.hit = np.empty(BLOCK_ROWS, np.bool_)
        self.also = np.empty(BLOCK_ROWS, np.bool_)
        self.due = np.empty(BLOCK_ROWS, np.float64)


_scratch = _Scratch()


def find(
    inventory: Inventory, delivered: npt.NDArray[np.float64], wanted: Wanted, concept: int
) -> Rows:
    """Return the rows of due banners with this concept and the wanted size, in ascending order.

    A banner is due if its contract has not ended, and an even delivery would have reached more
    impressions than `delivered` has. `delivered` has the shape (rows,).
    """
    found = []
    blocks = -(-len(inventory) // BLOCK_ROWS)
    for block in range(blocks):  # of the same size, because a small block costs as many hand-overs
        start, stop = (len(inventory) * edge // blocks for edge in (block, block + 1))
        rows = _in_block(inventory, delivered, wanted, concept, slice(start, stop))
        if len(rows):
            found.append(rows + start)
    return np.concatenate(found) if found else _NONE


def _in_block(
    inventory: Inventory,
    delivered: npt.NDArray[np.float64],
    wanted: Wanted,
    concept: int,
    block: slice,
) -> Rows:
    rows = block.stop - block.start
    hit, also, due = _scratch.hit[:rows], _scratch.also[:rows], _scratch.due[:rows]
    concepts = inventory.concepts[:, block]
    which = _scratch.which[:, :rows]
    np.equal(concepts, concept, out=which)
    np.logical_or.reduce(which, axis=0, out=hit)
    np.equal(inventory.size[block], wanted.size, out=also)
    np.logical_and(hit, also, out=hit)
    np.greater(inventory.ends_s[block], wanted.time_s, out=also)
    np.logical_and(hit, also, out=hit)
    np.subtract(wanted.time_s, inventory.starts_s[block], out=due)
    np.multiply(due, inventory.rate_per_s[block], out=due)
    np.greater(due, delivered[block], out=also)
    np.logical_and(hit, also, out=hit)
    return np.flatnonzero(hit)


def common(found: list[Rows], rows: int) -> Rows:
    """Return every candidate once, in ascending order.

    `rows` is the number of rows in the inventory. The function marks the candidates in a column,
    because this is faster than sorting.
    """
    marked = np.zeros(rows, np.bool_)
    for candidates in found:
        marked[candidates] = True
    return np.flatnonzero(marked)
