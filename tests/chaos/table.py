"""The table of results: a row per part that was killed, written by the run that measured it."""

import os
import platform
import subprocess
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from runtime.settings import REPOSITORY
from tests.chaos.ledger import Balance

HEADER = (
    "killed",
    "served again after, s",
    "looks that failed",
    "buyers' requests that failed",
    "orders confirmed",
    "lost",
    "doubled",
    "the experiment under way",
    "what it said",
)


@dataclass(frozen=True)
class Row:
    """One part, killed twice: under buyers, and under an experiment."""

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

    def cells(self) -> tuple[str, ...]:
        failed = sum(self.failures.values())
        return (
            self.part,
            f"{self.served_again_s:.1f}" if self.served_again_s else "never away",
            _counted(self.looks),
            f"{failed} of {self.requests}" + (f" ({_counted(self.failures)})" if failed else ""),
            f"{self.balance.confirmed} of {self.balance.purchases}",
            f"{self.balance.lost + (self.lost_in_run or 0)}",
            f"{self.balance.doubled + (self.doubled_in_run or 0)}",
            self.state,
            self.said or "–",
        )


def written(runtime: str, rows: list[Row]) -> Path:
    """docs/results/chaos-<runtime>.md, whole."""
    lines = [
        f"# One part killed at a time ({runtime})",
        "",
        f"`make test-chaos RUNTIME={runtime}` on {len(os.sched_getaffinity(0))} CPUs "
        f"({platform.system()} {platform.release()}; load average {os.getloadavg()[2]:.0f}), "
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, "
        f"commit {_commit()}. Every part gets a SIGKILL twice: while eight buyers buy as fast as "
        "the shop lets them, and in the middle of an experiment launched in the console. Served "
        "again: from the kill to the first page after the last that failed, looked at ten times a "
        "second through the gateway. Lost: confirmed to a customer and not in the database. "
        "Doubled: more than one order of a purchase. In every case the copies on the shelves and "
        "in orders added up to what there was before, and every order's total to its lines.",
        "",
        "| " + " | ".join(HEADER) + " |",
        "| --- |" + " ---: |" * 6 + " --- | --- |",
        *("| " + " | ".join(cell.replace("|", "/") for cell in row.cells()) + " |" for row in rows),
    ]
    path = REPOSITORY / "docs" / "results" / f"chaos-{runtime}.md"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


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
