"""The commands of a sheet, as arguments of the program `doorbuster`."""

import re
import shlex

_TARGET = re.compile(r"(compare|simulate|leaderboard)|(reproduce)-(.+)")
"""The make targets that run the `doorbuster` command of the same name, with ARGS as arguments."""


def words_of(line: str) -> tuple[str, ...]:
    """Return the arguments that a line passes to `doorbuster`; empty if it runs another program."""
    program, *rest = shlex.split(line)
    if program.endswith("/doorbuster"):
        return tuple(rest)
    target = _TARGET.fullmatch(rest[0]) if program == "make" and rest else None
    if target is None:
        return ()
    given = [one.removeprefix("ARGS=") for one in rest[1:] if one.startswith("ARGS=")]
    named = [word for word in target.groups() if word]
    return (*named, *(word for text in given for word in shlex.split(text)))
