"""Files and answers that are made to take far more time or memory than their size suggests."""

from gateway.students.files import MOST_BYTES

LIMIT = MOST_BYTES - 2_000


def _filled(line, head=""):
    """Return the line as often as a file may have it."""
    return head + line * ((LIMIT - len(head.encode())) // len(line.encode()))


FILES = {
    "nested calls": _filled("a" + "()" * 90 + "\n"),
    "attributes": _filled("a" + "._b" * 90 + "\n", "import math as a\n"),
    "one long dotted name": "import math\nmath" + "._b" * 40_000,
    "calls of attributes": _filled("a" + "._b()" * 40 + "\n", "import math as a\n"),
    "subscripts": _filled("a" + "[0]" * 90 + "\n"),
    "brackets": _filled("(" * 90 + ")" * 90 + "\n"),
    "deep brackets": "[" * (LIMIT // 2) + "]" * (LIMIT // 2),
    "minus signs": "x = " + "-" * LIMIT + "1",
    "not": "x = " + "not " * (LIMIT // 4) + "1",
    "lambdas": "x = " + "lambda:" * (LIMIT // 7) + "1",
    "sums": "x = 1" + "+1" * (LIMIT // 2),
    "comparisons": "x = 1" + "<1" * (LIMIT // 2),
    "elif": "if 1: pass\n" + "elif 1: pass\n" * (LIMIT // 13),
    "deep blocks": "".join(" " * depth + "if 1:\n" for depth in range(95)) + " " * 95 + "pass",
    "a huge number": "x = " + "9" * LIMIT,
    "a huge hexadecimal number": "x = 0x" + "f" * LIMIT,
    "a huge power": "x = 9 ** 9 ** 9 ** 9",
    "a huge text": "x = '" + "x" * LIMIT + "'",
    "a huge product": "x = 'x' * 10 ** 12",
    "many numbers": "x = (" + "1," * (LIMIT // 2) + ")",
    "many names": _filled("abc\n"),
    "f-strings": _filled("f'" + "{a}" * 60 + "'\n"),
    "f-strings in f-strings": _filled("f'{f\"{a()()}\"}'\n"),
    "decorators": _filled("@a()()()\n") + "def f(): pass\n",
    "comprehensions": "x = " + "[" * 60 + "1" + " for a in b]" * 60,
    "many comprehensions": _filled("[a for a in b for c in d]\n"),
    "match": "match x:\n" + " case [a, {'b': c, **d}]: pass\n" * (LIMIT // 31),
    "match of many": "match x:\n case " + " | ".join(["1"] * (LIMIT // 4)) + ": pass\n",
    "walrus": "x = " + "(a := " * 90 + "1" + ")" * 90,
    "many walruses": _filled("(a := b())\n"),
    "unicode names": _filled("ﬁ" + "ª" * 60 + "\n"),
    "names to be normalised": _filled("ﷺ\n"),
    "escapes": "x = '" + "\\N{LATIN SMALL LETTER A}" * (LIMIT // 24) + "'",
    "impurities": _filled("import os\n"),
    "names that are not allowed": _filled("print;"),
    "line ends": "x = (\n" + "\\\n" * (LIMIT // 2) + ")",
    "a comment": "#" + "x" * LIMIT,
    "types": _filled("x: a[b] = c()\n"),
    "annotations": "def f(" + ",".join(f"a{n}: b()" for n in range(8_000)) + "): pass",
    "globals": _filled("global a\n"),
    "try": _filled("try: pass\nfinally: pass\n"),
    "not Python": "def f(:" + " " * LIMIT,
    "a null byte": "x = 1\0" + "#" * LIMIT,
}

_MOST = 4 * 1024 * 1024 - 50
_ANSWERS = {
    "empty lists": ("[", "[],", "null]"),
    "an object": ("{", '"0":0,', '"1":0}'),
    "floats": ("[", "1.5,", "null]"),
    "verdicts": ("[[", '["dispatch",7],', '["dispatch",7]],null]'),
    "a number": ("", "9", ""),
    "a text": ('"', "x", '"'),
    "a reason": ('[[["drop",1,"', "x", '"]],null]'),
    "blanks": ("", " ", "[]"),
}
_DEEP = "[" * 900 + "]" * 900
ANSWERS = {
    name: f"{begins!r} + {repeated!r} * {_MOST // len(repeated)} + {ends!r}"
    for name, (begins, repeated, ends) in _ANSWERS.items()
} | {
    "depth": repr(_DEEP),
    "a deep verdict": repr(f"[[{_DEEP}],null]"),
    "a deep timer": repr(f"[[],{_DEEP}]"),
    "a deep fault": repr(f'{{"fault":{_DEEP}}}'),
    "a huge id": repr(f'[[["dispatch",{"9" * 4_000}]],null]'),
}
"""Answers of a policy's process in place of verdicts, each as an expression of Python."""
SAYING = """
import gateway.students.child as child
plainly = child._send
hostile = []

def send(line, content):
    plainly(line, hostile.pop() if hostile else content)

child._send = send

def say(answer):
    hostile.append(len(answer).to_bytes(4, "big") + answer.encode())
"""
"""A beginning for a policy's text that adds `say`, which replaces the policy's next answer."""
