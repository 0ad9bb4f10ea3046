"""Forbidden parts of a policy's source, and the messages about them."""

import pytest

from gateway.students.purity import impurities


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import time", "line 1: import time: every event has a time: use time_s"),
        ("from time import monotonic", "line 1: import time: every event has a time"),
        ("import os.path", "import os.path: a policy must not use files or processes"),
        ("import json", "import json: allowed: gateway.policies and abc, bisect"),
        ("import gateway.queues.dispatcher", "import gateway.queues.dispatcher: allowed"),
        ("from gateway import dispatcher", "import gateway.dispatcher: allowed"),
        ("from . import neighbour", "from .: a policy is a single file"),
        ("from random import choice", "random.choice: use random.Random(seed)"),
        ("import random\nx = random.random()", "line 2: random.random: use random"),
        ("import random\nx = random.Random()", "line 2: Random(): pass a seed"),
        ("\n\nopen('x')", "line 3: open: a policy must not use files"),
        (
            "print(1)",
            "print: its output is not shown; let snapshot() return what you want to show",
        ),
        ("eval('1')", "eval: write the code directly"),
        (
            "().__class__.__subclasses__()",
            "__subclasses__: a policy must not use the interpreter's internals",
        ),
        (
            "import collections\ncollections._sys.modules",
            "line 2: collections._sys: names that begin",
        ),
        ("import collections.abc as c\nc._sys.x.y", "line 2: c._sys: names that begin with _"),
        ("from gateway.policies import base\nbase._x", "line 2: base._x: names that begin with _"),
        ("from collections import _sys", "line 1: collections._sys: names that begin with _"),
        ("async def f(): pass", "async: a policy must answer immediately"),
        ("def f():\n    import socket", "line 2: import socket: allowed"),
    ],
)
def test_what_is_not_pure(text, words):
    assert words in str(impurities(text)[0])


@pytest.mark.parametrize(
    "text",
    [
        "from __future__ import annotations",
        "import heapq, math\nfrom collections.abc import Sequence",
        "from gateway.policies.base import Line\nfrom gateway.policies import base, sheet",
        "import random\nx = random.Random(7)\ny = x.random()",
        "from random import Random\nx = Random(7)",
        "def f(id, open_places): return id",
        "import math\nclass A:\n    def f(self): return self._math._x",
        "class A:\n    def open(self): return self.open",
    ],
)
def test_what_is_pure(text):
    assert impurities(text) == []


def test_all_of_it_is_said_in_order():
    found = impurities("import time\nprint(1)\nimport os\n")
    assert [one.line for one in found] == [1, 2, 3]
