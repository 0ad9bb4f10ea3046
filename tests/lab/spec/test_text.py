"""Texts that would keep the parser of TOML busy, or break it, are refused by a scan."""

import time

import pytest

from common import bounded
from lab.errors import SpecError
from lab.spec.experiment import MOST_FAULTS, read_spec
from lab.spec.text import parse

N = 60_000
EVIL = {
    "a dotted key": ("a" + ".a" * N + " = 1", "keys and numbers of at most 64"),
    "a dotted key with spaces": ("a" + " . a" * N + " = 1", "at most 6 names"),
    "a quoted dotted key": ("'a'" + ".'a'" * N + " = 1", "at most 6 names"),
    "a dotted header": ("[" + "a ." * N + "a]", "at most 6 names"),
    "digits": ("seed = " + "9" * N, "keys and numbers of at most 64"),
    "hexadecimal digits": ("seed = 0x" + "f" * N, "keys and numbers of at most 64"),
    "a large number": ("version = 1\nseed = 0x" + "f" * 50, "seed: "),
    "brackets": ("[[[" * N, "at most 12 levels"),
    "nested lists": ("a = " + "[" * N, "at most 12 levels"),
    "nested tables": ("a = " + "{a=" * N, "at most 12 levels"),
    "hidden by a string": ('a = {k="""x"""", ' + "a ." * N + " = 1}", "at most 6 names"),
    "an open string": ('a = "' + '\\"' * N, "not TOML"),
    "an open long string": ('a = """' + 'x"' * N, "not TOML"),
    "a long quoted key": ("version = 1\n'" + "k" * N + "' = 1", "unknown key"),
    "many unknown keys": (
        "version = 1\n" + "\n".join(f"k{i} = 1" for i in range(9000)),
        "… and 8,980 more faults",
    ),
    "many policies": ("version = 1\n" + "[[policy]]\n" * 9000, "at most 100"),
    "many loads": ("version = 1\n[load]\nrho = [" + "1," * N + "]", "at most 200"),
    "too large": ("#" * (1024 * 1024 + 1), "1,048,577 bytes; allowed: at most 1,048,576"),
}


@pytest.mark.parametrize("what", EVIL)
def test_a_text_that_is_no_spec_is_refused_at_once(what: str) -> None:
    """Each of these took the parser seconds, or raised an unexpected exception."""
    text, words = EVIL[what]
    began_s = time.process_time()
    with pytest.raises(SpecError) as refused:
        read_spec(text, "evil.toml")
    assert time.process_time() - began_s < 2
    said = str(refused.value)
    assert words in said
    assert len(said.splitlines()) <= MOST_FAULTS + 1
    assert max(map(len, said.splitlines())) < 700


def test_strings_and_comments_may_have_what_keys_may_not() -> None:
    word = "x" * 100 + "." * 10 + "[" * 20
    text = f"a = \"{word}\" # {word}\nb = '{word}'\nc = '''{word}'''\nd = \"\"\"{word}\n\"\"\"\n"
    assert parse(text, "t") == {"a": word, "b": word, "c": word, "d": word + "\n"}


def test_a_child_process_parses_and_refuses() -> None:
    bounds = bounded.Bounds(memory_bytes=64 * 2**20, cpu_s=5, wall_s=30)
    function = "lab.spec.text:as_json"
    found = bounded.call(function, {"text": "a = 1979-05-27\nb = nan", "origin": "t"}, bounds)
    assert found["a"] == "1979-05-27"
    with pytest.raises(bounded.BoundedError, match="t: not TOML"):
        bounded.call(function, {"text": "a", "origin": "t"}, bounds)


def test_more_runs_than_a_result_can_have_are_refused() -> None:
    policies = "".join(f"[[policy]]\nname = 'sq'\nlabel = 'p{i}'\n" for i in range(100))
    loads = ",".join(f"{1 + i / 100}" for i in range(100))
    text = f"version = 1\nrepetitions = 1000\n{policies}[load]\nrho = [{loads}]"
    with pytest.raises(SpecError, match="10,000,000 runs; allowed: at most 200,000"):
        read_spec(text, "mine")
