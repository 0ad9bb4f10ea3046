"""Launches that simulate a submitted policy for the scoreboard."""

from typing import Final

from lab.console.models import Launch

COMMAND: Final = ["policy", "score", "--with-known"]


def of_person(person: str) -> list[Launch]:
    """Return this person's submissions, from the newest to the oldest."""
    found = Launch.objects.filter(by=person, arguments__0=COMMAND[0], arguments__1=COMMAND[1])
    return list(found.order_by("-asked_at"))


def author_of(result: str) -> str | None:
    """Return the person whose submission made this result; None if no submission made it."""
    found = Launch.objects.filter(
        result=result, arguments__0=COMMAND[0], arguments__1=COMMAND[1]
    ).first()
    return None if found is None else found.by
