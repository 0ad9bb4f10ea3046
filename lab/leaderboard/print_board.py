"""The board's output in a terminal, after its files are written."""

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
    """Write all files of a comparison and of its board, and print the board."""
    write_tables(folder, cells)
    draw_figures(folder, cells)
    found = board_of(folder, cells)
    why_not = _disturbance(cells)
    page = None if why_not else write_board(found)
    efficiency, counted, *more = found.tables()
    for table in reversed([efficiency, *more]):
        show(table)
    if not found.recoveries:
        console.print(f"The seconds to recover are not measured yet: {recovery.how(folder.spec())}")
    if found.steps:
        console.print(ablation.words(found.steps))
    for line in honesty(cells):
        console.print(line)
    console.print(f"{counted.title}, and all tables of a comparison: {folder.path / 'tables.md'}")
    if page is None:
        (folder.path / BOARD_FILE).unlink(missing_ok=True)
        console.print(f"The board is not kept, because {why_not} during a run.")
    else:
        console.print(f"Report: {page}")


def _disturbance(cells: Sequence[Cell]) -> str:
    """Return a text about a user's action during a run that excludes the run from boards; empty if
    there was none."""
    summaries = [summary for cell in cells for summary in cell.summaries]
    if any(summary.faults for summary in summaries):
        return "a user caused a fault"
    if any(summary.traced_ratio for summary in summaries):
        return "traces were exported"
    return ""
