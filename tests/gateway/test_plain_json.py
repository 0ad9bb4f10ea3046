"""JSON from outside: its values are counted before any of them is made."""

import gc
import json
import time

import pytest

from gateway import plain_json
from gateway.plain_json import PlainJsonError

MIB = 2**20
LARGE = {
    "empty lists": b"[" + b"[]," * (2 * MIB) + b"0]",
    "empty texts": b"[" + b'"",' * (2 * MIB) + b"0]",
    "numbers": b"[" + b"0," * (3 * MIB) + b"0]",
    "an object": b"{" + b'"0":0,' * MIB + b'"":0}',
    "brackets alone": b"[" * (6 * MIB),
    "texts that never end": b'["' + b'\\"' * (3 * MIB),
    "digits": b"9" * (6 * MIB),
    "blanks": b" " * (6 * MIB),
}


@pytest.mark.parametrize("content", LARGE.values(), ids=LARGE)
def test_hostile_content_is_refused_soon(content):
    """Six MiB that would become millions of values take a fraction of a second."""
    began_s = time.thread_time()
    with pytest.raises(PlainJsonError):
        plain_json.decoded(content, 8_000)
    assert time.thread_time() - began_s < 2.0


@pytest.mark.parametrize(
    "value",
    [
        ["[[[,,,{{{:::"] * 100,
        {"a quote": '"', "a backslash": "\\", "both": '\\"' * 500, "more": '\\\\"\\' * 500},
        "x" * 100_000,
        [1.5, -2, None, True, {"é": []}] * 50,
    ],
)
def test_texts_count_once_whatever_is_in_them(value):
    """Only what is outside of texts can become a value."""
    assert plain_json.decoded(json.dumps(value).encode(), 1_000) == value
    assert plain_json.decoded(json.dumps(value, ensure_ascii=False).encode(), 1_000) == value


def test_each_value_counts():
    """A bound on values is never above what is there."""
    content = json.dumps([[number, str(number)] for number in range(1_000)]).encode()
    assert len(plain_json.decoded(content, 5_000)) == 1_000
    with pytest.raises(PlainJsonError, match="has more than 2,000 values") as refused:
        plain_json.decoded(content, 2_000)
    assert refused.value.is_large


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff", b"NaN", b"[-Infinity]", b"[" * 900, b"1 2"]
)
def test_what_is_not_json_is_refused(content):
    """Numbers that JSON does not have are refused, too."""
    with pytest.raises(PlainJsonError, match="is not JSON") as refused:
        plain_json.decoded(content, 1_000)
    assert not refused.value.is_large


def test_garbage_is_collected_afterwards_as_before():
    """Decoding leaves the collector as it has found it."""
    content = json.dumps(["x"] * 500).encode()
    plain_json.decoded(content, 1_000)
    assert gc.isenabled()
    with pytest.raises(PlainJsonError):
        plain_json.decoded(content[:-1], 1_000)
    assert gc.isenabled()
    gc.disable()
    try:
        plain_json.decoded(content, 1_000)
        assert not gc.isenabled()
    finally:
        gc.enable()
