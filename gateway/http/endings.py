"""Ways to end a connection that asyncio does not offer.

Owns: how a reset is sent. Must not know: who is at either end.
"""

import asyncio
import socket
import struct
from typing import Final

# SO_LINGER with no time: closing sends RST instead of the end of the stream.
_AT_ONCE: Final = struct.pack("ii", 1, 0)


def reset(transport: asyncio.Transport) -> None:
    """Closes at once with a reset: the other side sees that what it has got is not the whole."""
    sock = transport.get_extra_info("socket")
    if sock is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    transport.abort()
