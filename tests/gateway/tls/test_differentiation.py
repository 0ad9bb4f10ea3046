"""New and resumed TLS sessions, refused customers, and what these customers see."""

import asyncio
import ssl
import subprocess

import pytest

from gateway.tls.context import REFUSAL, server_context
from tests.gateway.real_sockets import PATIENCE_S
from tests.gateway.tls_customers import (
    ACCESS_DENIED,
    V1_2,
    V1_3,
    alert,
    ask,
    hello,
    record,
    refuse_new,
    says,
    tls_bed,
    trusting,
)
from tests.skips import needs

versions = pytest.mark.parametrize("version", [V1_2, V1_3], ids=["1.2", "1.3"])


def kinds(b):
    counts = b.gateway.parts.gate.counts()
    return counts["new"], counts["resumed"]


async def command(*words, data=b""):
    """Return the output of a program."""
    process = await asyncio.create_subprocess_exec(
        *map(str, words),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    async with asyncio.timeout(PATIENCE_S):
        printed, _ = await process.communicate(data)
    return printed.decode("latin-1")


# ---- real clients ------------------------------------------------------------------------------


@versions
@pytest.mark.parametrize("tickets", [True, False], ids=["tickets", "session ids"])
async def test_python_comes_back(files, version, tickets):
    async with tls_bed(files) as b:
        context = trusting(files, version)
        if not tickets:
            context.options |= ssl.OP_NO_TICKET
        port = b.gateway.tls_port
        answer, session, resumed = await asyncio.to_thread(ask, port, context)
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert not resumed
        assert kinds(b) == (1, 0)
        for times in (1, 2):
            _, session, resumed = await asyncio.to_thread(ask, port, context, session)
            assert resumed
            assert kinds(b) == (1, times)
        await asyncio.to_thread(ask, port, context)  # has a session, but does not say so
        assert kinds(b) == (2, 2)
        assert b.gateway.parts.gate.counts()["handshake_failed"] == 0


@needs("openssl")
@pytest.mark.parametrize("how", [["-servername", "localhost"], ["-noservername"]])
async def test_s_client_with_a_saved_session(files, tmp_path, how):
    async with tls_bed(files) as b:
        at = ("openssl", "s_client", "-connect", f"127.0.0.1:{b.gateway.tls_port}", *how)
        saved = tmp_path / "session"
        request = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        given = ("-tls1_3", "-ign_eof", "-CAfile", files.authority)
        printed = await command(*at, *given, "-sess_out", saved, data=request)
        assert "you asked for /" in printed
        assert kinds(b) == (1, 0)
        printed = await command(*at, *given, "-sess_in", saved, data=request)
        assert "Reused, TLSv1.3" in printed
        assert "you asked for /" in printed
        assert kinds(b) == (1, 1)


@needs("curl")
async def test_curl(files):
    async with tls_bed(files) as b:
        address = f"https://localhost:{b.gateway.tls_port}/"
        given = ("curl", "-sS", "--ipv4", "--cacert", files.authority)
        # A connection of its own for each, in one process: it keeps its session.
        printed = await command(*given, "-H", "Connection: close", "--http1.1", address, address)
        assert printed == "you asked for /" * 2
        assert kinds(b) == (1, 1)
        assert await command(*given, "--http2", address) == "you asked for /"
        assert kinds(b) == (2, 1)
        assert b.shop.requests[-1][2]["x-forwarded-proto"] == "https"


# ---- claims are not believed -------------------------------------------------------------------


@pytest.mark.parametrize(
    "claim",
    [
        {"version": V1_2, "session_id": b"s" * 32},
        {"version": V1_2, "ticket": b"t" * 192},
        {"version": V1_2, "ticket": b"t" * 192, "session_id": b"s" * 32},
        {"version": V1_2, "ticket": b""},
        {"version": V1_2, "name": None},
        {"version": V1_3, "psk": b"t" * 192},
        {"version": V1_3, "session_id": b"s" * 32},
        {"version": V1_3, "name": None},
    ],
    ids=lambda claim: " ".join(map(str, [claim["version"].name, *list(claim)[1:]])),
)
async def test_a_claim_alone_is_a_new_connection(files, claim):
    async with tls_bed(files) as b:
        admission = refuse_new(b)
        assert alert(await says(b.gateway.tls_port, hello(**claim))) == ACCESS_DENIED
        assert admission.seen == [False]
        counts = b.gateway.parts.gate.counts()
        assert (counts["new"], counts["refused"], counts["handshake_failed"]) == (1, 1, 0)
        await b.until(lambda: not b.gateway.parts.connections.newcomers)
        assert b.gateway.parts.gate.counts()["under_way"] == 0


@versions
@pytest.mark.parametrize("tickets", [True, False], ids=["tickets", "session ids"])
async def test_what_another_gateway_gave_is_worth_nothing(files, version, tickets):
    context = trusting(files, version)
    if not tickets:
        context.options |= ssl.OP_NO_TICKET
    async with tls_bed(files) as before:
        _, session, _ = await asyncio.to_thread(ask, before.gateway.tls_port, context)
    async with tls_bed(files) as b:
        answer = await asyncio.to_thread(ask, b.gateway.tls_port, context, session)
        assert answer[2] is False
        assert kinds(b) == (1, 0)


async def test_a_retried_hello_is_asked_about_once(files):
    async with tls_bed(files) as b:
        reader, writer = await asyncio.open_connection("127.0.0.1", b.gateway.tls_port)
        writer.write(hello(key_share=False))
        retry = await record(reader)
        assert retry[:1] == b"\x16"
        assert retry[5] == 2  # a ServerHello: the HelloRetryRequest
        assert kinds(b) == (1, 0)
        writer.write(hello())
        while (await record(reader))[:1] != b"\x17":  # encrypted: certificate and signature
            pass
        assert kinds(b) == (1, 0)
        writer.transport.abort()
        await b.until(lambda: b.gateway.parts.gate.counts()["handshake_failed"] == 1)


class Hello:
    """An SSLObject with the attributes that the callback reads."""

    asked_as_resumed = None
    is_accepted = False

    def __init__(self, session_reused):
        self.session_reused = session_reused


def test_who_resumes_at_first_and_begins_anew_when_asked_to_retry_is_asked_about_again(files):
    """Otherwise a good ticket would let a customer in with a full handshake."""
    asked = []

    def only_resumed(resumed):
        asked.append(resumed)
        return resumed

    context = server_context(files.server, files.key, "1.2", only_resumed)
    one = Hello(session_reused=True)
    assert context.sni_callback(one, "localhost", context) is None
    one.session_reused = False
    assert context.sni_callback(one, "localhost", context) == REFUSAL
    assert asked == [True, False]


# ---- refused -----------------------------------------------------------------------------------


@versions
async def test_new_ones_are_refused_and_see_it_at_once_and_resumed_ones_come_in(files, version):
    async with tls_bed(files) as b:
        context, port = trusting(files, version), b.gateway.tls_port
        _, session, _ = await asyncio.to_thread(ask, port, context)
        refuse_new(b)
        for _ in range(3):
            with pytest.raises(ssl.SSLError, match=r"(?i)alert.access.denied"):
                await asyncio.to_thread(ask, port, trusting(files, version))
            answer, session, resumed = await asyncio.to_thread(ask, port, context, session)
            assert resumed
            assert answer.startswith(b"HTTP/1.1 200 ")
        counts = b.gateway.parts.gate.counts()
        assert (counts["new"], counts["accepted_new"], counts["refused"]) == (4, 1, 3)
        assert counts["resumed"] == 3
        assert counts["handshake_failed"] == 0
        assert len(b.shop.requests) == 4


@pytest.mark.parametrize("ending", ["reset", "close"])
async def test_a_session_id_survives_customers_who_leave_abruptly(files, ending):
    """A customer who loses patience comes back and is still in the middle of a session."""

    def leave(port, context):
        from tests.gateway.http.test_leaving_for_real import Caller
        from tests.gateway.tls_customers import connect

        caller = Caller(connect(port, context))
        session = caller.sock.session
        getattr(caller, ending)()
        return session

    async with tls_bed(files) as b:
        context = trusting(files, V1_2)
        context.options |= ssl.OP_NO_TICKET
        session = await asyncio.to_thread(leave, b.gateway.tls_port, context)
        await b.until(lambda: kinds(b) == (1, 0) and not b.gateway.parts.connections.customers)
        _, _, resumed = await asyncio.to_thread(ask, b.gateway.tls_port, context, session)
        assert resumed


async def test_tls_1_3_alone_if_so_set(files):
    async with tls_bed(files, tls_minimum="1.3") as b:
        with pytest.raises(ssl.SSLError, match=r"(?i)protocol.version"):
            await asyncio.to_thread(ask, b.gateway.tls_port, trusting(files, V1_2))
        await asyncio.to_thread(ask, b.gateway.tls_port, trusting(files, V1_3))
        assert kinds(b) == (1, 0)


async def test_the_admin_api_chooses_who_gets_in(files):
    async with tls_bed(files) as b:
        status, known = await b.admin("GET", "/connection-admissions")
        assert status == 200
        assert {one["name"] for one in known} >= {"none", "eac"}
        call = {"name": "eac", "parameters": {"cto_s": 0.1, "ctn_s": 2, "processors": 1}}
        status, now = await b.admin("PUT", "/connection-admission", call)
        assert (status, now["name"]) == (200, "eac")
        assert now["parameters"]["k_apl_s"] == 2
        _, snapshot = await b.admin("GET", "/snapshot")
        assert snapshot["connections"]["admission"]["name"] == "eac"
        assert snapshot["connections"]["new"] == 0
        for wrong, field in (
            ({"name": "ecm"}, "name"),
            ({"name": "eac", "parameters": {"ctn_s": -1}}, "parameters.ctn_s"),
            ({"name": "eac", "parameters": {"x": 1}}, "parameters.x"),
            ({"name": "eac", "extra": 1}, "extra"),
            ({}, "name"),
        ):
            status, refusal = await b.admin("PUT", "/connection-admission", wrong)
            assert (status, refusal["field"]) == (400, field)
        _, snapshot = await b.admin("GET", "/snapshot")
        assert snapshot["connections"]["admission"]["name"] == "eac"
        _, metrics = await b.admin("GET", "/metrics")
        assert 'connection_admission="eac"' in metrics
        line = 'tls_connections_total{kind="new",outcome="refused"} 0.0'
        assert f"doorbuster_gateway_{line}" in metrics


@versions
async def test_eac_in_a_gateway_lets_in_what_its_processor_can_serve(files, version):
    """There is one connection an interval, and an interval ends only when the test ends it."""

    given = {
        "connection_admission": "eac",
        "connection_admission_parameters": {
            "k_apl_s": 3600, "cto_s": 1, "ctn_s": 3600, "processors": 1,
        },
    }  # fmt: skip
    async with tls_bed(files, time_scale=1, **given) as b:
        context, port = trusting(files, version), b.gateway.tls_port
        gate = b.gateway.parts.gate
        await b.until(lambda: gate.admission.began_s is not None)
        for _ in range(3):  # nothing limits the first interval
            _, session, _ = await asyncio.to_thread(ask, port, context)
        gate.admission.timer_due(gate.now_s() + 3600)
        await asyncio.to_thread(ask, port, trusting(files, version))
        with pytest.raises(ssl.SSLError, match=r"(?i)alert.access.denied"):
            await asyncio.to_thread(ask, port, trusting(files, version))
        _, _, resumed = await asyncio.to_thread(ask, port, context, session)
        assert resumed
        assert gate.processors_wanted == 3
