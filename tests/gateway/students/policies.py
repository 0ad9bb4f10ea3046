"""Students' policies for tests: a good one, and faults that tests put into it."""

import textwrap
from dataclasses import replace

from gateway.policies.interface import Page, Request
from gateway.students import naming
from gateway.students.calls import PolicyFile
from gateway.students.limits import WITHOUT_CUSTOMERS

PATIENT = replace(WITHOUT_CUSTOMERS, start_s=240.0, decision_s=240.0)
"""Limits for tests in which nothing takes long, on a machine with much other work."""

SOURCE = """
from gateway.policies.base import IgnoringPolicy, Line, oldest_first
from gateway.policies.discipline import Discipline
from gateway.policies.interface import NOTHING, Cancel, Dispatch, Drop, Reject
from gateway.policies.sheet import Parameter, Sheet

SHEET = Sheet(
    name="plain", idea="First come, first served.", rule="serve the oldest",
    source="a test", deviations="none",
    parameters=(Parameter("capacity", 3, "requests", "places", "a test", 1, 1000),),
)


class Plain(IgnoringPolicy):
    name = "plain"

    def __init__(self, capacity):
        self.line = Line(capacity)
        self.times = 0

    def arrival(self, time_s, request):
        BEFORE_ARRIVAL
        if self.line.is_full:
            return (Drop(request.id, "full"),)
        self.line.append(request)
        return NOTHING

    def workers_free(self, time_s, free):
        self.times += 1
        BEFORE_WORKERS_FREE
        free = min(free, len(self.line))
        return [Dispatch(self.line.take(Discipline.FIFO).id) for _ in range(free)]

    def withdraw(self, time_s, id):
        self.line.remove(id)

    def adopt(self, time_s, requests):
        for request in requests:
            self.line.append(request)

    def waiting(self):
        return oldest_first([self.line])

    def snapshot(self):
        BEFORE_SNAPSHOT
        return {"discipline": "FIFO", "queues": {"all": len(self.line)}, "times": self.times}

MORE


def make(*, capacity):
    return Plain(capacity)
"""


def source(*, arrival="", workers_free="", snapshot="", more=""):
    """Return the good policy's text, with a test's statements before its answers and
    more methods."""
    inserted = {
        "BEFORE_ARRIVAL": arrival,
        "BEFORE_WORKERS_FREE": workers_free,
        "BEFORE_SNAPSHOT": snapshot,
    }
    text = SOURCE
    for place, code in inserted.items():
        text = text.replace(place, textwrap.indent(code or "pass", " " * 8).lstrip())
    return text.replace("MORE", textwrap.indent(more, " " * 4))


def own(text, *, limits=PATIENT, parameters=None, told=None):
    """Return a stand-in for the policy of this text; `told` gets its fall-back."""
    heard = told.append if told is not None else lambda _: None
    file = PolicyFile("own/plain.py", text)
    return naming.create(file, parameters or {}, limits=limits, on_fall_back=heard)


def request(id, arrived_s=0.0, page=Page.HOME):
    return Request(id, page, arrived_s, session=f"s{id}", session_is_new=True)
