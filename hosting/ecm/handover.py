"""The steps in which processors move between applications without overlap (Guitart et al.,
2008, section 3.1.2).

Assignments may overlap only in a shared processor.
"""

from collections.abc import Hashable, Mapping
from typing import TypeVar

Application = TypeVar("Application", bound=Hashable)


def steps(
    before: Mapping[Application, frozenset[int]], after: Mapping[Application, frozenset[int]]
) -> list[tuple[Application, frozenset[int]]]:
    """Return the steps from `before` to `after`, in order. Steps that take processors away come
    first.

    Each step sets the processors of one application. `after` names all applications. An application
    that `before` does not name has no processors yet.

    Two applications have a processor in common only if they share it in `before` or `after`. An
    application may therefore have to give up all its processors before it gets others. It then has
    no processors for a moment.
    """
    now = {name: before.get(name, frozenset()) for name in after}
    done: list[tuple[Application, frozenset[int]]] = []

    def change(name: Application, cpus: frozenset[int]) -> None:
        if now[name] != cpus:
            now[name] = cpus
            done.append((name, cpus))

    for name, cpus in after.items():
        kept = now[name] & cpus
        if kept or not cpus:
            change(name, kept)
    waiting = [name for name, cpus in after.items() if now[name] != cpus]
    while waiting:
        free = [
            name
            for name in waiting
            if not any(
                (after[name] & now[other]) - after[other] for other in after if other != name
            )
        ]
        if free:
            change(free[0], after[free[0]])
            waiting.remove(free[0])
        else:  # each waits for another, so one application releases all its processors
            change(next(name for name in waiting if now[name]), frozenset())
    return done
