"""Where a cookie begins and ends."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.http import cookie_field

PAIRS = cookie_field.pairs_named(b"sid")


def fields(*values):
    return [(b"cookie", b"Cookie", value) for value in values]


@pytest.mark.parametrize(
    ("cookies", "value"),
    [
        (fields(b"sid=v"), b"v"),
        (fields(b"a=b; sid=v; c=d"), b"v"),
        (fields(b'a=b;\tsid="v"'), b"v"),
        (fields(b"a=b", b"sid=v"), b"v"),
        (fields(b"sid=first; sid=second"), b"first"),
        (fields(b"xsid=no; sid=v"), b"v"),
        (fields(b"  sid=v  ;"), b"v"),
        (fields(b"sid==v="), b"=v="),
        (fields(b"sid="), b""),
        (fields(b"sid=;a=b"), b""),
        (fields(b"xsid=v"), None),
        (fields(b"a=sid=v"), None),
        (fields(b"a=b sid=v"), None),
        (fields(b"a=b, sid=v"), None),
        (fields(b"Sid=v"), None),
        (fields(b"sid"), None),
        (fields(b"sid =v"), None),
        ([(b"x-cookie", b"X-Cookie", b"sid=v")], None),
        ([], None),
    ],
)
def test_a_cookie_is_found_among_others(cookies, value):
    assert cookie_field.find(cookies, b"sid=") == value


@pytest.mark.parametrize(
    ("cookies", "left"),
    [
        (b"sid=v", b""),
        (b"sid=v;", b""),
        (b"a=b; sid=v; c=d", b"a=b; c=d"),
        (b"a=b;c=d; sid=v", b"a=b;c=d"),
        (b"sid=v; a=b; sid=w", b"a=b"),
        (b"sid=v;sid=w;a=b", b"a=b"),
        (b"a=b;\tsid = v", b"a=b"),
        (b"sid; a=b", b"a=b"),
        (b"xsid=v; sidx=v; a=sid", b"xsid=v; sidx=v; a=sid"),
    ],
)
def test_a_cookie_is_left_out(cookies, left):
    assert cookie_field.without(cookies, PAIRS) == left


COOKIES = st.lists(
    st.sampled_from([b"sid", b"=", b";", b" ", b"\t", b'"', b"v", b"a=b", b",", b"x"])
).map(b"".join)


@given(COOKIES)
def test_what_was_left_out_is_not_found(cookies):
    left = cookie_field.without(cookies, PAIRS)
    assert cookie_field.find(fields(left), b"sid=") is None


@given(COOKIES, COOKIES)
def test_the_others_stay(before, after):
    def others(cookies):
        pairs = (pair.strip(b" \t") for pair in cookies.split(b";"))
        return [pair for pair in pairs if pair and pair.partition(b"=")[0].strip(b" \t") != b"sid"]

    cookies = before + b"; sid=v;" + after
    assert others(cookie_field.without(cookies, PAIRS)) == others(cookies)


@pytest.mark.parametrize(
    "cookies", [b"xsid=" * 6000, b" " * 30_000 + b"x", b";" * 30_000, b"; sid" * 6000]
)
def test_a_head_full_of_anything_costs_little(cookies):
    began_s = time.thread_time()
    cookie_field.find(fields(cookies), b"sid=")
    cookie_field.without(cookies, PAIRS)
    assert time.thread_time() - began_s < 2  # some milliseconds; squared it would be minutes
