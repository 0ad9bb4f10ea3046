"""The output of a board in a terminal, after its files are written."""

from collections.abc import Sequence

from lab.analysis.cells import Cell
from lab.analysis.warnings import honesty
from lab.leaderboard import BOARD_FILE, ablation, recovery
from lab.leaderboard.board_study import board_of
from lab.leaderboard.report import write_board
from lab.report.figures import draw_figures
from lab.report.tables import write_tables
from lab.report.terminal import console, show
from lab.results.comparison import ComparisonResult


def say_board(folder: ComparisonResult, cells: Sequence[Cell]) -> None:
    """Write all files of a comparison and of the board, and print the board."""
    write_tables(folder, cells)
    draw_figures(folder, cells)
    found = board_of(folder, cells)
    has_fault = any(summary.faults for cell in cells for summary in cell.summaries)
    page = None if has_fault else write_board(found)
    efficiency, counted, *more = found.tables()
    for table in reversed([efficiency, *more]):
        show(table)
    if not found.recoveries:
        console.print(f"Seconds to recover are not measured yet: {recovery.how(folder.spec())}")
    if found.steps:
        console.print(ablation.words(found.steps))
    for line in honesty(cells):
        console.print(line)
    console.print(f"{counted.title}, and all tables of a comparison: {folder.path / 'tables.md'}")
    if page is None:
        (folder.path / BOARD_FILE).unlink(missing_ok=True)
        console.print("The board is not kept, because a user caused a fault during a run.")
    else:
        console.print(f"Report: {page}")
