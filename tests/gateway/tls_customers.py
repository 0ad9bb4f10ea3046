"""Customers by TLS for tests: real ones by the ssl module, and ClientHellos byte by byte.

The module has a bed with TLS and its gate's counts, connections with and without a saved session,
unfinished handshakes, and forged hellos.
"""

import asyncio
import gc
import os
import socket
import ssl
import struct
import threading
from contextlib import asynccontextmanager, suppress

from runtime import certificates
from tests.gateway.real_sockets import PATIENCE_S, bed

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
V1_2, V1_3 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
ACCESS_DENIED = 49
UNDER_WAY = {"tls_handshake_s": 3600}  # nothing ends because somebody lost patience

_GOOD_SUITES = (0x1301, 0xC02B, 0xC02F)
_X25519, _P256 = 0x001D, 0x0017
_SIGNATURES = (0x0403, 0x0804, 0x0401, 0x0503, 0x0805, 0x0501)


class RefuseNew:
    """A connection admission that admits resuming customers only, and records every call."""

    name = "none"  # as far as its sheet goes
    asks_for_processors = False
    requested = None

    def __init__(self):
        self.seen = []

    def connection(self, time_s, *, resumed):
        self.seen.append(resumed)
        return resumed

    def assigned(self, time_s, processors):
        pass

    def timer_due(self, time_s):
        pass

    def next_timer_s(self):
        return None

    def snapshot(self):
        return {}


@asynccontextmanager
async def tls_bed(files, shop=None, **settings):
    """Run a bed that also serves TLS; `files` as `certificates.make` returns them."""
    given = {"tls_port": 0, "tls_certificate": files.server, "tls_key": files.key} | settings
    async with bed(shop, **given) as b:
        yield b


def refuse_new(b):
    """Admit only resuming customers from now on; return the admission."""
    b.gateway.parts.gate.admission = admission = RefuseNew()
    return admission


def trusting(files, version=None):
    """Return a client's context that trusts this authority, and uses this version only."""
    context = ssl.create_default_context(cafile=files.authority)
    if version is not None:
        context.minimum_version = context.maximum_version = version
    return context


def connect(port, context, session=None, name="localhost"):
    """Return a customer's socket after its handshake; call it in a thread."""
    raw = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
    try:
        return context.wrap_socket(raw, server_hostname=name, session=session)
    except BaseException:
        raw.close()
        raise


def ask(port, context, session=None):
    """Send one request on a separate connection; return the answer, the session, if it resumed."""
    with connect(port, context, session) as sock:
        sock.sendall(GET)
        answer = b""
        while b"\r\n\r\n" not in answer or b"you asked for" not in answer:
            piece = sock.recv(65536)
            assert piece, answer
            answer += piece
        return answer, sock.session, sock.session_reused


def hello(
    version=V1_3, *, session_id=b"", ticket=None, psk=None, key_share=True, name=b"localhost"
):
    """Return a ClientHello record; `ticket` (1.2) and `psk` (1.3) name the session to resume."""
    extensions = [
        (10, _vector16(struct.pack("!HH", _X25519, _P256))),  # 1.2 signs with no other curve
        (11, b"\x01\x00"),
        (13, _vector16(b"".join(struct.pack("!H", one) for one in _SIGNATURES))),
    ]
    if name is not None:
        extensions.insert(0, (0, _vector16(b"\x00" + _vector16(name))))
    if ticket is not None:
        extensions.append((35, ticket))
    if version is V1_3:
        share = struct.pack("!H", _X25519) + _vector16(os.urandom(32)) if key_share else b""
        extensions += [(43, b"\x02\x03\x04"), (45, b"\x01\x01"), (51, _vector16(share))]
        if psk is not None:
            identity = _vector16(_vector16(psk) + bytes(4))
            extensions.append((41, identity + _vector16(b"\x20" + os.urandom(32))))
    body = b"\x03\x03" + os.urandom(32) + bytes([len(session_id)]) + session_id
    body += _vector16(b"".join(struct.pack("!H", one) for one in _GOOD_SUITES)) + b"\x01\x00"
    body += _vector16(b"".join(struct.pack("!H", kind) + _vector16(it) for kind, it in extensions))
    message = b"\x01" + struct.pack("!I", len(body))[1:] + body
    return b"\x16\x03\x01" + _vector16(message)


def _vector16(content):
    return struct.pack("!H", len(content)) + content


async def says(port, data, *, and_ends=False):
    """Return everything the gateway sends after these bytes until it closes or resets."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data)
        if and_ends:
            writer.write_eof()
        async with asyncio.timeout(PATIENCE_S):
            return await reader.read()
    except ConnectionResetError:
        return None
    finally:
        writer.transport.abort()


def alert(said):
    """Return the number of this fatal alert."""
    assert said[:1] == b"\x15", said
    assert said[5] == 2
    return said[6]


async def record(reader):
    """Return the next TLS record."""
    async with asyncio.timeout(PATIENCE_S):
        head = await reader.readexactly(5)
        return head + await reader.readexactly(int.from_bytes(head[3:], "big"))


def make_certificate(folder, kind="ec-p256"):
    return certificates.make(folder, kind, ("localhost", "127.0.0.1"))


def counts(b, *names):
    """Return the gate's counts of these names."""
    found = b.gateway.parts.gate.counts()
    return tuple(found[name] for name in names)


async def quiet(b):
    """Wait until no customer is connected and no handshake is under way."""
    connections = b.gateway.parts.connections
    await b.until(lambda: not (connections.newcomers or connections.customers))
    await b.until(lambda: counts(b, "under_way") == (0,))


async def serves(b, files):
    """Assert that a customer who comes gets an answer."""
    answer, _, _ = await asyncio.to_thread(ask, b.gateway.tls_port, trusting(files))
    assert answer.startswith(b"HTTP/1.1 200 ")


def resuming(port, context):
    """Return a ClientHello that resumes a session of this port, equal to a real customer's."""
    _, session, _ = ask(port, context)
    outgoing = ssl.MemoryBIO()
    tls = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost", session=session)
    with suppress(ssl.SSLWantReadError):
        tls.do_handshake()
    return outgoing.read()


@asynccontextmanager
async def knocking(b, *sent, hears=False):
    """Yield customers who send this much of their handshake, one after the other, and then wait."""
    writers = []
    try:
        for number, data in enumerate(sent, start=counts(b, "under_way")[0] + 1):
            reader, writer = await asyncio.open_connection("127.0.0.1", b.gateway.tls_port)
            writers.append(writer)
            writer.write(data)
            if hears:
                await record(reader)
            await b.until(lambda number=number: counts(b, "under_way") == (number,))
        yield writers
    finally:
        for writer in writers:
            writer.transport.abort()


async def knows(b, *numbers):
    """Wait for the numbers of unknown, new and resuming customers, and until none is computed."""
    places = b.gateway.parts.handshakes.places
    await b.until(lambda: tuple(map(len, places.taken().values())) == numbers)
    await b.until(
        lambda: all(one.waits_for_customer for each in places.taken().values() for one in each)
    )


def asking(ask):
    """Return a callback for the server's name that calls `ask` for a new session."""

    def decide(ssl_object, name, context):
        ssl_object.asked_as_resumed = False
        ssl_object.is_accepted = ask(False)

    return decide


def alive(kind):
    """Return all objects of a kind, or of one of several."""
    gc.collect()
    return [one for one in gc.get_objects() if isinstance(one, kind)]


def handshake_threads():
    """Return the threads that compute handshakes, of all gateways."""
    return [one for one in threading.enumerate() if one.name.startswith("handshake")]
