"""The table of results: a row for each killed part, written by the test run that measured it.

A run of only some parts (`ARGS="-k redis"`) does not change the rows of other parts.
"""

import os
import platform
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from runtime.settings import REPOSITORY
from tests.chaos.ledger import Balance

PARTS = ("postgres", "redis", "broker", "gateway", "shop", "ads", "lab", "lab-worker")
HEADER = (
    "killed part",
    "served again after, s",
    "failed samples",
    "failed requests of buyers",
    "confirmed orders",
    "lost",
    "doubled",
    "books and totals",
    "state of the experiment",
    "message of the experiment",
    "date, load, commit",
)


def measured() -> str:
    """Return the time, the machine's load and the commit."""
    busy = os.getloadavg()[1] / len(os.sched_getaffinity(0))
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {busy:.1f} processes for each CPU, {_commit()}"


@dataclass(frozen=True)
class Row:
    """The results of one part, killed twice: once while buyers buy, once during an experiment."""

    part: str
    served_again_s: float
    looks: Counter[str]
    requests: int
    failures: Counter[str]
    balance: Balance
    lost_in_run: int | None
    doubled_in_run: int | None
    state: str
    said: str
    measured: str = field(default_factory=lambda: measured())

    def cells(self) -> tuple[str, ...]:
        failed = sum(self.failures.values())
        return (
            self.part,
            f"{self.served_again_s:.1f}" if self.served_again_s else "never away",
            _counted(self.looks),
            f"{failed} of {self.requests}" + (f" ({_counted(self.failures)})" if failed else ""),
            f"{self.balance.confirmed} of {self.balance.purchases}",
            _sum(self.balance.lost, self.lost_in_run),
            _sum(self.balance.doubled, self.doubled_in_run),
            "add up" if self.balance.adds_up else "DO NOT ADD UP",
            self.state,
            self.said or "–",
            self.measured,
        )


STORM = "## Random kills"


def written(runtime: str, rows: list[Row], storm: Sequence[str] = ()) -> Path:
    """Write docs/results/chaos-<runtime>.md; without `storm`, that section does not change."""
    path = REPOSITORY / "docs" / "results" / f"chaos-{runtime}.md"
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    _, _, kept_storm = before.partition(f"\n{STORM}\n")
    lines = dict(_kept(path) if path.exists() else ())
    lines |= {row.part: _line(row.cells()) for row in rows}
    head = [
        f"# One part killed at a time ({runtime})",
        "",
        "The test kills each part twice with SIGKILL: once while eight buyers buy as fast as "
        "the shop allows, and once during an experiment that was launched in the console.",
        "",
        "- *Served again after* is the number of real seconds from the kill until requests no "
        "longer fail. The test requests a page through the gateway ten times per second.",
        "- *Lost* counts orders that were confirmed to a customer but are not in the "
        "database; *doubled* counts purchases with more than one order.",
        "- *Add up* means that the books on the shelves and in orders are complete, and that "
        "every order's total is the sum of its lines.",
        "- The message is the text that the console showed at the commit of the row. A row stays "
        "until a later test kills the same part again.",
        "",
        f"*Command:* `make test-chaos RUNTIME={runtime}`. *Commit:* {_commit()}; the last column "
        "has the commit of each row. "
        f"*Machine:* {len(os.sched_getaffinity(0))} CPUs ({platform.system()} "
        f"{platform.release()}). *Date:* {datetime.now(UTC):%Y-%m-%d}.",
        "",
        _line(HEADER),
        "| --- |" + " ---: |" * 6 + " --- | --- | --- | --- |",
    ]
    told = [lines[part] for part in PARTS if part in lines]
    if missing := [part for part in PARTS if part not in lines]:
        told += ["", f"Not measured yet: {', '.join(missing)}."]
    last = ["", *storm] if storm else ["", STORM, *kept_storm.splitlines()] if kept_storm else []
    path.write_text("\n".join([*head, *told, *last]) + "\n", encoding="utf-8")
    return path


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"


def _kept(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each part with its row in the existing page."""
    for line in path.read_text(encoding="utf-8").splitlines():
        part = line.removeprefix("| ").partition(" |")[0]
        if part in PARTS:
            yield part, line


def _sum(of_buyers: int, of_run: int | None) -> str:
    """Return the sum of both numbers as text; the number of the run is None if it is unknown."""
    return f"{of_buyers}, in the run unknown" if of_run is None else f"{of_buyers + of_run}"


def _counted(what: Counter[str]) -> str:
    return ", ".join(f"{how} × {count}" for how, count in what.most_common()) or "0"


def _commit() -> str:
    said = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    return said.stdout.strip() or "unknown"
