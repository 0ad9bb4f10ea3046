"""People who use a console with accounts: each has separate cookies."""

from dataclasses import replace

import requests

from tests.lab.console.conftest import Console, run


def visitor(classroom: Console) -> Console:
    """The same console for a browser that was never there."""
    return replace(classroom, session=requests.Session())


def logged_in(classroom: Console, name: str, password: str) -> Console:
    """The same console for a person who has just logged in."""
    one = visitor(classroom)
    one.get("/people/login")
    answer = one.post("/people/login", {"username": name, "password": password})
    assert "Log out" in answer.text, answer.text
    return one


def enrolled(classroom: Console, role: str, name: str) -> Console:
    """The same console for a `teacher` or `student` with a new account, logged in."""
    name, password = run(classroom, role, name).stdout.strip().split(",")
    return logged_in(classroom, name, password)
