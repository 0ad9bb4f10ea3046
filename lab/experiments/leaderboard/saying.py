"""A board in a terminal, after all its files are written.

Owns: which of its tables are printed. Must not know: how they are made.
"""

from collections.abc import Sequence

from lab.experiments.cells import Cell
from lab.experiments.figures import draw_figures
from lab.experiments.honesty import honesty
from lab.experiments.leaderboard import ablation
from lab.experiments.leaderboard.board_study import board_of
from lab.experiments.leaderboard.report import write_board
from lab.experiments.results import ResultFolder
from lab.experiments.tables import write_tables
from lab.experiments.terminal import console, show


def say_board(folder: ResultFolder, cells: Sequence[Cell]) -> None:
    """Write everything that a comparison has, and the board; print the board."""
    write_tables(folder, cells)
    draw_figures(folder, cells)
    found = board_of(folder, cells)
    page = write_board(found)
    efficiency, counted, *more = found.tables()
    for table in reversed([efficiency, *more]):
        show(table)
    if found.steps:
        console.print(ablation.words(found.steps))
    for line in honesty(cells):
        console.print(line)
    console.print(f"{counted.title}, and all tables of a comparison: {folder.path / 'tables.md'}")
    console.print(f"Report: {page}")
