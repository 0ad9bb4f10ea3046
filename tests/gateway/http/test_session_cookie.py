"""The cookie's form and signature, and its place among other cookies."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.http import session_cookie
from gateway.http.session_cookie import Known, SessionCookie

KEY = b"a key that only these tests know"
SESSION = session_cookie.session_id(bytes(range(16)))
EXPIRY_S = 2_000_000_000
GENUINE = SessionCookie(KEY).value(SESSION, EXPIRY_S)
SID = SessionCookie(KEY, b"sid")


def test_a_cookie_is_read_back_by_whoever_has_the_key():
    assert SessionCookie(KEY).read(GENUINE, EXPIRY_S - 1) == Known(SESSION, EXPIRY_S)


def test_it_ends_at_its_expiry():
    assert SessionCookie(KEY).read(GENUINE, EXPIRY_S - 0.001) is not None
    assert SessionCookie(KEY).read(GENUINE, EXPIRY_S) is None


def test_a_cookie_that_was_read_while_genuine_expires_all_the_same():
    signer = SessionCookie(KEY)
    assert signer.read(GENUINE, 0) is not None
    assert signer.read(GENUINE, EXPIRY_S + 1) is None


def later(cookie):
    return cookie.replace(b"%d" % EXPIRY_S, b"%d" % (EXPIRY_S + 1))


@pytest.mark.parametrize(
    "forged",
    [
        b"",
        b"1",
        b"1...",
        b"s1",
        GENUINE[:-1],
        GENUINE[:-20],
        GENUINE + b"A",
        GENUINE + b"=",
        GENUINE + b"\n",
        GENUINE.replace(b"1.", b"2.", 1),
        later(GENUINE),
        GENUINE.replace(SESSION.encode(), session_cookie.session_id(bytes(16)).encode()),
        GENUINE.replace(b".", b"..", 1),
        GENUINE.rpartition(b".")[0],
        GENUINE.rpartition(b".")[0] + b"." + b"A" * 43,
        GENUINE.replace(b".%d." % EXPIRY_S, b".0%d." % EXPIRY_S),
        GENUINE.replace(b".%d." % EXPIRY_S, b".-1."),
        GENUINE + b"A" * 30_000,
        b"1." + b"A" * 22 + b"." + b"9" * 30_000 + b"." + b"A" * 43,
        b"\xff" * 86,
    ],
)
def test_what_is_not_genuine_says_nothing(forged):
    assert SessionCookie(KEY).read(forged, 0) is None


def test_another_key_is_no_key():
    assert SessionCookie(KEY + b"x").read(GENUINE, 0) is None


def test_the_last_letter_has_one_spelling():
    """43 letters hold two bits more than a signature; these bits must be zero."""
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    spellings = [GENUINE[:-1] + bytes([letter]) for letter in alphabet]
    assert [c for c in spellings if SessionCookie(KEY).read(c, 0)] == [GENUINE]


@given(st.binary(max_size=100))
def test_any_bytes_can_be_read(value):
    assert SessionCookie(KEY).read(value, 0) is None


@given(st.data())
def test_one_changed_byte_is_enough(data):
    at = data.draw(st.integers(0, len(GENUINE) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda b: b != GENUINE[at]))
    assert SessionCookie(KEY).read(GENUINE[:at] + bytes([byte]) + GENUINE[at + 1 :], 0) is None


def test_what_is_remembered_is_bounded():
    signer = SessionCookie(KEY)
    for n in range(10_000):
        signer.read(b"%d" % n, 0)
    assert signer.remembered <= 8192


def test_a_secret_of_the_customers_own_making_yields_no_part_of_a_signature():
    said, _, signature = GENUINE.rpartition(b".")
    session = SessionCookie(KEY).session_of(b"doorbuster_session=" + said)
    assert not signature.startswith(session.encode()[:-1])


def test_an_id_that_follows_from_a_secret_does_not_show_it():
    session = SessionCookie(KEY).session_of(b"django's own")
    assert session == SessionCookie(KEY).session_of(b"django's own")
    assert session != SessionCookie(KEY + b"x").session_of(b"django's own")
    assert SessionCookie(KEY).read(SessionCookie(KEY).value(session, 1), 0) == Known(session, 1)


@pytest.mark.parametrize(
    ("cookies", "left"),
    [
        (b"a=b; c=d", b"a=b; c=d"),
        (b"a=b;c=d", b"a=b;c=d"),  # not ours to tidy up
        (b"doorbuster_session=v", b""),
        (b"doorbuster_session=v;", b""),
        (b"a=b; doorbuster_session=v; c=d", b"a=b; c=d"),
        (b"doorbuster_session=v; a=b; doorbuster_session=w", b"a=b"),
        (b"doorbuster_session=v;doorbuster_session=w;a=b", b"a=b"),
        (b"a=b;\tdoorbuster_session = v", b"a=b"),
        (b"doorbuster_session", b""),
        (b"xdoorbuster_session=v", b"xdoorbuster_session=v"),
        (b"a=doorbuster_session", b"a=doorbuster_session"),
    ],
)  # fmt: skip
def test_the_cookie_is_left_out(cookies, left):
    assert SessionCookie(KEY).without(cookies) == left


def test_gateways_on_one_host_have_cookies_of_their_own():
    """A browser shows its cookies to every port of a host. A gateway passes on another's unread."""
    one, other = SessionCookie(KEY, b"one"), SessionCookie(KEY, b"other")
    value = one.value(SESSION, EXPIRY_S)
    assert one.read(value, 0) == Known(SESSION, EXPIRY_S)
    assert other.read(value, 0) is None
    assert (one.without(b"one=a; other=b"), other.without(b"one=a; other=b")) == (
        b"other=b",
        b"one=a",
    )
    assert one.is_set_by(b"one=x; Path=/")
    assert not other.is_set_by(b"one=x; Path=/")


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
    assert session_cookie.find(cookies, b"sid=") == value


COOKIES = st.lists(
    st.sampled_from([b"sid", b"=", b";", b" ", b"\t", b'"', b"v", b"a=b", b",", b"x"])
).map(b"".join)


@given(COOKIES)
def test_what_was_left_out_is_not_found(cookies):
    left = SID.without(cookies)
    assert session_cookie.find(fields(left), b"sid=") is None


@given(COOKIES, COOKIES)
def test_the_others_stay(before, after):
    def others(cookies):
        pairs = (pair.strip(b" \t") for pair in cookies.split(b";"))
        return [pair for pair in pairs if pair and pair.partition(b"=")[0].strip(b" \t") != b"sid"]

    cookies = before + b"; sid=v;" + after
    assert others(SID.without(cookies)) == others(cookies)


@pytest.mark.parametrize(
    "cookies", [b"xsid=" * 6000, b" " * 30_000 + b"x", b";" * 30_000, b"; sid" * 6000]
)
def test_a_head_full_of_anything_costs_little(cookies):
    began_s = time.thread_time()
    session_cookie.find(fields(cookies), b"sid=")
    SID.without(cookies)
    assert time.thread_time() - began_s < 2  # some milliseconds; squared it would be minutes
