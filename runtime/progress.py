"""The progress of a command, shown on the terminal with one line per step."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

_FRAME = 11
"""The characters of a box in each line that belong neither to a name nor to a value."""


@dataclass(slots=True)
class Step:
    """A step of a command. When the step ends, its line shows `detail`."""

    title: str
    detail: str = ""


@dataclass(slots=True)
class Progress:
    """The output of a command's steps, on a terminal or as plain lines in a log."""

    console: Console = field(default_factory=lambda: Console(highlight=False, soft_wrap=True))

    @contextmanager
    def step(self, title: str) -> Iterator[Step]:
        """Show a step during the block. Then print ✓, or ✗ after an error, and the seconds that the
        step took.
        """
        step = Step(title)
        began_s = time.monotonic()
        try:
            with self.console.status(f"  {escape(title)} …", spinner="dots"):
                yield step
        except BaseException:
            self._line("[red]✗[/]", step, began_s)
            raise
        self._line("[green]✓[/]", step, began_s)

    def say(self, text: str) -> None:
        self.console.print(text, markup=False)

    def failure(self, text: str) -> None:
        self.console.print(f"\n[bold red]{escape(text)}[/]")

    def box(self, title: str, rows: dict[str, str]) -> None:
        """Print a box of names and values at the end of a command. If a path is too long for the
        box, print the rows without a box, because a user cannot copy a path that the box breaks.
        """
        names = max(map(len, rows))
        longest = max(len(word) for text in rows.values() for word in text.split())
        if names + longest + _FRAME > self.console.width:
            self.say(f"\n{title}")
            for name, text in rows.items():
                self.say(f"  {name:<{names}}   {text}")
            return
        table = Table.grid(padding=(0, 3, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column()
        for name, text in rows.items():
            table.add_row(escape(name), f"[bold]{escape(text)}[/]")
        self.console.print(Panel(table, title=title, expand=False, padding=(1, 3)))

    def _line(self, tick: str, step: Step, began_s: float) -> None:
        took_s = time.monotonic() - began_s
        text = escape(step.title) + (f" [dim]{escape(step.detail)}[/]" if step.detail else "")
        self.console.print(f"  {tick} {text} [dim]{took_s:.1f} s[/]")
