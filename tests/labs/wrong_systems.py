"""Deliberately wrong systems, for each sheet at least one: its bands must catch each of them.

A band that holds for a wrong system, too, teaches nothing. Each entry below runs a command in
place of a step of a sheet; `make test-labs` requires that at least one band of that step does not
hold for what comes out. Prefer a simulated command of some seconds, also for a live step.

Owns: which systems these are. Must not know: how commands are run, how bands are read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from lab.lessons.readings import Place


@dataclass(frozen=True, slots=True)
class WrongSystem:
    """A system that is not the one that the sheet describes."""

    sheet: int
    step: int
    """The step whose bands must catch it."""
    what: str
    """What is wrong, in a few words."""
    command: str
    """The shell runs this in the repository's folder, where the sheet's own files have been
    written, so that it may change them: `sed s/…/…/ own/lab3.toml > own/wrong.toml && …`."""
    instead: Mapping[str, str] = field(default_factory=dict)
    """Title of a policy in the bands → title of the policy that is read in its place."""


WRONG_SYSTEMS = (
    WrongSystem(
        sheet=1,
        step=4,
        what="the sale is served newest first, by priority",
        command='make simulate ARGS="--policies 8q-lifo-pri --rho 0.7,2 --sessions 1500 --seed 2"',
        instead={"SQ": "8Q-LIFO-Pri"},
    ),
    WrongSystem(
        sheet=1,
        step=4,
        what="orphans are cancelled in the sale",
        command='make simulate ARGS="--policies sq --abandonment cancel --rho 2 --sessions 1500"',
        instead={"SQ": "SQ + cancel"},
    ),
    WrongSystem(
        sheet=1,
        step=6,
        what="the eight queues are served oldest first",
        command='make simulate ARGS="--policies 8q-af --rho 2 --sessions 1500"',
        instead={"8Q-LIFO-Pri": "8Q-AF"},
    ),
    WrongSystem(
        sheet=1,
        step=7,
        what="the eight queues are served oldest first, five seeds",
        command='make simulate ARGS="--policies sq,8q-af --rho 2 --sessions 1500 --repetitions 5"',
        instead={"8Q-LIFO-Pri": "8Q-AF"},
    ),
    WrongSystem(
        sheet=2,
        step=1,
        what="the queue called oldest first is served newest first",
        command='make simulate ARGS="--policies always-lifo --rho 0.85,1.2 --sessions 3000 '
        '--repetitions 2"',
        instead={"Always-FIFO": "Always-LIFO"},
    ),
    WrongSystem(
        sheet=2,
        step=2,
        what="the one LIFO queue is first come first served",
        command='make simulate ARGS="--policies sq,always-fifo --rho 1.4 --sessions 1500 '
        '--repetitions 2"',
        instead={"SQ-LIFO": "Always-FIFO"},
    ),
    WrongSystem(
        sheet=3,
        step=2,
        what="admission control is off",
        command='make simulate ARGS="sbac --rho 2 --admission none --duration-s 200"',
        instead={"SQ + SBAC responsive": "SQ"},
    ),
    WrongSystem(
        sheet=3,
        step=4,
        what="admission control is off at the live shop",
        command='make simulate ARGS="sbac-live --policies sq --admission none --rho 3 '
        '--duration-s 300"',
        instead={"SQ + SBAC responsive": "SQ"},
    ),
    WrongSystem(
        sheet=4,
        step=1,
        what="the shop goes on serving orphans although it should cancel them",
        command='make simulate ARGS="connection-sentry --policies sq --abandonment ignore '
        '--sessions 1200"',
        instead={"SQ + cancel": "SQ"},
    ),
    WrongSystem(
        sheet=4,
        step=5,
        what="orphans are cancelled where they should be served",
        command='make simulate ARGS="connection-sentry --abandonment cancel --sessions 3000"',
        instead={"SQ": "SQ + cancel"},
    ),
    WrongSystem(
        sheet=5,
        step=2,
        what="all banners are expected equally often, whatever their weights",
        command=".venv/bin/doorbuster exec .venv/bin/python -m shop.ads draws --against equal",
    ),
    WrongSystem(
        sheet=6,
        step=2,
        what="every connection is let in",
        command='echo "new connections let in, of five: $(for i in $(seq 5); do '
        "openssl s_client -connect 127.0.0.1:8443 -tls1_2 < /dev/null 2>&1; done | "
        "grep -c '^New, TLS')\"",
    ),
    WrongSystem(
        sheet=7,
        step=5,
        what="the copy is not the template but serves the newest first",
        command="make new-policy NAME=quiet-door && "
        "sed s/Discipline.FIFO/Discipline.LIFO/ own/quiet_door.py > own/before.py && "
        'make simulate ARGS="--policies own/before.py,own/quiet_door.py --rho 1.4 '
        '--sessions 1500 --repetitions 5"',
    ),
    WrongSystem(
        sheet=8,
        step=2,
        what="the stubborn customers are ordinary ones",
        command="make simulate ARGS=own/lab8.toml",
    ),
    WrongSystem(
        sheet=9,
        step=2,
        what="AIMD's limit does not move",
        command="make simulate ARGS=own/lab9-fixed.toml",
        instead={"AIMD": "limit 40"},
    ),
    WrongSystem(
        sheet=9,
        step=3,
        what="the customers make no pauses",
        command="make simulate ARGS=own/lab9-limits.toml",
    ),
)


def wrong_systems(sheet: int) -> list[WrongSystem]:
    """Return the wrong systems of a sheet, by its number."""
    return [one for one in WRONG_SYSTEMS if one.sheet == sheet]


def in_place(place: Place, titles: Mapping[str, str]) -> Place:
    """Return the same place with other policies: title in the sheet → title to read."""

    def other(label: str) -> str:
        for title, replacement in titles.items():
            if label == title or label.endswith(f" {title}"):  # `ρ = 2 SQ`
                return label.removesuffix(title) + replacement
        return label

    return replace(place, row=tuple(map(other, place.row)), column=other(place.column))
