"""Tables and progress in a terminal."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from lab.files.run_summary import RunSummary
from lab.machine.progress_file import progress_file
from lab.report.drawing.table import Table


class _Console(Console):
    """Rich's console, which does not break a path or URL that is longer than a line, because a user
    could not copy it.
    """

    def print(self, *objects: Any, **options: Any) -> None:
        words = (
            word for one in objects if isinstance(one, str | Text) for word in str(one).split()
        )
        options.setdefault("soft_wrap", any(len(word) > self.width for word in words))
        super().print(*objects, **options)


console = _Console(highlight=False)
if not console.is_terminal:
    console.width = 140  # a file or a pipe has no width; the tables need this much


@contextmanager
def output(*, as_json: bool, quiet: bool) -> Iterator[None]:
    """Within this block, send the console's lines to standard error if `as_json`, because standard
    output has the JSON. With `quiet`, print only the essential lines.
    """
    console.stderr, console.quiet = as_json, quiet
    try:
        yield
    finally:
        console.stderr = console.quiet = False


@contextmanager
def essential() -> Iterator[None]:
    """Print the lines of this block even with `quiet`. Only `quiet` with JSON output omits them."""
    was_quiet = console.quiet
    console.quiet = was_quiet and console.stderr
    try:
        yield
    finally:
        console.quiet = was_quiet


def show(table: Table) -> None:
    """Print a table and its note."""
    console.print(table.in_terminal(console))
    if table.note:
        console.print(Text(table.note, style="dim"))
    console.print()


def verdict(summary: RunSummary) -> str:
    """Return a line with the main results of a run."""
    reconciles = "" if summary.reconciles else "; COUNTS DO NOT RECONCILE"
    if summary.sessions is None:  # clients in a closed loop
        return f"{100 * summary.completed_ratio:.1f} % of requests served{reconciles}"
    fates = summary.sessions
    admitted = fates.arrived - fates.rejected
    sold = f", {summary.confirms} confirms" if summary.confirms else ""
    let_in = f" of {admitted} admitted" if fates.rejected else ""
    return (
        f"{100 * summary.completed_ratio:.1f} % of requests completed, "
        f"{fates.completed}{let_in} sessions{sold}" + reconciles
    )


class _Bar:
    """A progress bar in a terminal. In other outputs, only the lines of `say` appear."""

    def __init__(self, total: float) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:3.0f} %"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(elapsed_when_finished=False),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._total = max(total, 1.0)
        self._task = self._progress.add_task("", total=self._total)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        self._progress.console.print(Text(text))

    def _show(self, completed: float, description: str, *, now: bool = False) -> None:
        self._progress.update(self._task, completed=completed, description=description)
        done_ratio = min(1.0, completed / self._total)
        progress_file.tell(now=now, done_ratio=done_ratio, words=description)


class TasksProgress(_Bar):
    """A progress bar for runs that several processes carry out, measured in sessions or, for a
    study, in requests."""

    def __init__(self, sessions: Sequence[float]) -> None:
        super().__init__(sum(sessions))
        self._expected = sessions
        self._ended = [0.0] * len(sessions)
        self._done = 0

    def ended(self, index: int, sessions: float) -> None:
        """Record how many sessions of a run have ended."""
        self._ended[index] = min(sessions, self._expected[index])
        self._show(sum(self._ended), f"{self._done} of {len(self._ended)} runs done")

    def done(self, index: int) -> None:
        """Record that a run is complete."""
        self._done += 1
        self.ended(index, self._expected[index])


class RunProgress(_Bar):
    """A progress bar, in real seconds, for consecutive runs or groups of simultaneous runs."""

    def __init__(self, total_real_s: float) -> None:
        super().__init__(total_real_s)
        self._done_real_s = 0.0

    def run(
        self, title: str, real_s: float, clients_until_s: float | None = None
    ) -> Callable[[Mapping[str, Any]], None]:
        """Begin a run that takes about `real_s`. Return the function that receives its progress
        lines. `clients_until_s` (paper seconds) marks a closed loop, in which sessions end only
        when the run ends."""
        return self.at_once([title], real_s, clients_until_s)[0]

    def at_once(
        self, titles: Sequence[str], real_s: float, clients_until_s: float | None = None
    ) -> list[Callable[[Mapping[str, Any]], None]]:
        """Begin several simultaneous runs. Return a function for each run, as in `run`."""
        base = self._done_real_s
        self._done_real_s += real_s
        done = [0.0] * len(titles)
        words = list(titles)
        self._show(base, "; ".join(words))

        def step(number: int, line: Mapping[str, Any]) -> None:
            is_last = line.get("event") == "summary"
            counts = line["counts"] if is_last else line
            if not counts.get("planned"):
                return
            if clients_until_s:
                done[number] = 1.0 if is_last else min(line["time_s"] / clients_until_s, 1.0)
                told = f"{counts['outcomes']['completed']} requests served"
            else:
                done[number] = counts["ended"] / counts["planned"]
                confirms = counts["confirms"]
                told = f"{counts['ended']}/{counts['planned']} sessions, {confirms} confirm"
                told += "" if confirms == 1 else "s"
            words[number] = f"{titles[number]}: {told}"
            self._show(base + min(done) * real_s, "; ".join(words), now=is_last)

        return [partial(step, number) for number in range(len(titles))]
