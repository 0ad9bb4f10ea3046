"""The first message of a TLS connection, read before OpenSSL reads it.

Most refused customers name no session to resume. Their ClientHello alone shows this, so the gateway
can refuse them without a thread and without an OpenSSL object. OpenSSL handles everything unusual.
"""

import struct
from typing import Final

_EXPECTED: Final = (22, 1, 0x0303)
"""The type of a handshake record, and the type and version of a ClientHello (RFC 8446, 4.1.2)."""
_VERSION_1_3: Final = b"\x03\x04"
# Extensions (RFC 8446, section 4.2; RFC 5077, section 3.2).
_SESSION_TICKET: Final = 35
_PRE_SHARED_KEY: Final = 41
_SUPPORTED_VERSIONS: Final = 43

_HEAD: Final = struct.Struct(">BxxHBBHH32xB")
"""A record's type and length, a message's type and length, the version, the random number, and the
length of the session id.
"""
_SHORT: Final = struct.Struct(">H")
_EXTENSION: Final = struct.Struct(">HH")


def begins_session(data: bytes, *, allows_1_2: bool = True) -> bool:
    """Return whether `data` is one record with one whole ClientHello that resumes no session.

    The answer is False in uncertain cases, for example for a session id or a ticket that OpenSSL
    may not accept. Without `allows_1_2`, the answer is False for a customer without TLS 1.3.
    """
    try:
        return _begins_session(data, allows_1_2)
    except (struct.error, IndexError):  # a length that leads beyond the end
        return False


def _begins_session(data: bytes, allows_1_2: bool) -> bool:
    end = len(data)
    record, record_bytes, message, high, low, version, id_bytes = _HEAD.unpack_from(data)
    if (record, message, version) != _EXPECTED:
        return False
    if record_bytes != end - 5 or (high << 16) + low != end - 9:
        return False
    at = _HEAD.size + id_bytes
    at += 2 + _SHORT.unpack_from(data, at)[0]  # cipher suites
    at += 1 + data[at]  # compression methods
    knows_1_3 = False
    if at != end:
        at += 2
        if at + _SHORT.unpack_from(data, at - 2)[0] != end:
            return False
        while at < end:
            kind, length = _EXTENSION.unpack_from(data, at)
            at += 4
            if kind == _PRE_SHARED_KEY or (kind == _SESSION_TICKET and length):
                return False
            if kind == _SUPPORTED_VERSIONS:
                versions = range(at + 1, at + length, 2)
                knows_1_3 = any(data[n : n + 2] == _VERSION_1_3 for n in versions)
            at += length
    # With TLS 1.3, the session id means nothing (RFC 8446, section 4.1.2).
    return at == end and (knows_1_3 or (allows_1_2 and id_bytes == 0))
