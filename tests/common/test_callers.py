"""The callers of an API: their host names, their sites, and their token."""

import pytest

from common.http_api import CallError, Callers

NAMES = Callers.of(("0.0.0.0", "gateway"))


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8081", "[::1]:8081", "Gateway:1"])
def test_own_names_are_accepted(host):
    """Loopback names and given names are accepted, with any port and in any case."""
    NAMES.check_site(host, [])


@pytest.mark.parametrize("host", ["", "0.0.0.0:8081", "evil.example", "localhost.evil.example"])
def test_other_names_are_refused(host):
    """After DNS rebinding, a page's host name is in Host; the refusal lists the accepted names."""
    with pytest.raises(CallError) as refused:
        NAMES.check_site(host, [])
    assert (refused.value.status, refused.value.field) == (403, "Host")
    assert refused.value.allowed == "127.0.0.1, ::1, gateway, localhost"


@pytest.mark.parametrize(
    "origins", [["null"], ["http://localhost:2"], ["http://localhost:1", "http://evil.example"]]
)
def test_pages_of_other_sites_are_refused(origins):
    """Only a page of the API's own address may call it."""
    NAMES.check_site("localhost:1", ["http://localhost:1"])
    with pytest.raises(CallError) as refused:
        NAMES.check_site("localhost:1", origins)
    assert (refused.value.status, refused.value.field) == (403, "Origin")
    assert refused.value.allowed == "http://localhost:1"


def test_a_required_token_must_be_sent():
    """The refusal names the place of the token, and the scheme as HTTP requires."""
    NAMES.check_token([])
    callers = Callers.of((), "secret")
    callers.check_token(["Basic x", "Bearer secret"])
    for given in ([], [""], ["Bearer "], ["Bearer other"], ["Basic secret"], ["Bearer secrét"]):
        with pytest.raises(CallError, match="make token") as refused:
            callers.check_token(given)
        assert (refused.value.status, refused.value.headers) == (
            401,
            {"WWW-Authenticate": "Bearer"},
        )


def test_an_empty_token_is_not_a_token():
    """A server that requires a token and has none refuses every call."""
    with pytest.raises(CallError):
        Callers.of((), "").check_token(["Bearer "])
