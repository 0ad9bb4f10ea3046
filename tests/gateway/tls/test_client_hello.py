"""ClientHellos whose bytes alone show that they resume no session, and all others."""

import asyncio
import random
import ssl

import pytest

from gateway.tls.client_hello import begins_session
from tests.gateway.tls_customers import (
    ACCESS_DENIED,
    V1_2,
    V1_3,
    alert,
    counts,
    hello,
    quiet,
    refuse_new,
    resuming,
    says,
    tls_bed,
    trusting,
)


def of_python(version):
    """Return the ClientHello of a customer who uses Python's ssl module."""
    context = ssl.create_default_context()
    context.minimum_version = context.maximum_version = version
    outgoing = ssl.MemoryBIO()
    tls = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    return outgoing.read()


@pytest.mark.parametrize("version", [V1_2, V1_3], ids=["1.2", "1.3"])
def test_a_first_visit(version):
    assert begins_session(of_python(version))
    assert begins_session(hello(version))


@pytest.mark.parametrize(
    "claim",
    [
        {"version": V1_2, "session_id": b"s" * 32},
        {"version": V1_2, "ticket": b"t" * 192},
        {"version": V1_3, "psk": b"t" * 192},
        {"version": V1_3, "ticket": b"t" * 192},
    ],
    ids=["session id", "ticket", "1.3", "both versions"],
)
def test_a_session_is_named(claim):
    """Only OpenSSL can say whether the session is valid."""
    assert not begins_session(hello(**claim))


def test_the_session_id_means_nothing_in_tls_1_3():
    assert begins_session(hello(V1_3, session_id=b"s" * 32))


def test_a_server_of_tls_1_3_alone_leaves_older_customers_to_openssl():
    assert not begins_session(hello(V1_2), allows_1_2=False)
    assert begins_session(hello(V1_3), allows_1_2=False)


def test_whatever_is_not_one_whole_hello_is_left_to_openssl():
    """This includes a hello in two records, or with something behind it."""
    whole = hello()
    for cut in range(len(whole)):
        assert not begins_session(whole[:cut])
    assert not begins_session(whole + b"\x00")
    assert not begins_session(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 9)


@pytest.mark.parametrize("seed", range(20))
def test_torn_hellos_raise_nothing(seed):
    draw = random.Random(seed)
    for _ in range(200):
        torn = bytearray(hello(draw.choice([V1_2, V1_3]), ticket=draw.choice([None, b"t" * 9])))
        for _ in range(draw.randint(1, 4)):
            torn[draw.randrange(len(torn))] = draw.randrange(256)
        assert begins_session(bytes(torn)) in (True, False)


@pytest.mark.parametrize("version", [V1_2, V1_3], ids=["1.2", "1.3"])
async def test_a_refusal_is_the_alert_that_openssl_sends(files, version):
    """The same refusal comes from OpenSSL if the hello names an invalid session."""
    claim = {"ticket": b"t" * 192} if version is V1_2 else {"psk": b"t" * 192}

    async with tls_bed(files) as b:
        refuse_new(b)
        fast = await says(b.gateway.tls_port, hello(version))
        assert alert(fast) == ACCESS_DENIED
        assert fast == await says(b.gateway.tls_port, hello(version, **claim))
        assert counts(b, "new", "refused", "handshake_failed") == (2, 2, 0)
        await quiet(b)


@pytest.mark.parametrize("version", [V1_2, V1_3], ids=["1.2", "1.3"])
async def test_who_comes_back_is_left_to_openssl(files, version):
    async with tls_bed(files) as b:
        context = trusting(files, version)
        again = await asyncio.to_thread(resuming, b.gateway.tls_port, context)
        assert not begins_session(again)
