"""Leaving a connection as a machine does that is switched off: with a reset instead of an end."""

import socket
import struct


def will_reset(sock: socket.socket) -> None:
    """Closing it will reset the connection, whatever has not been sent or read."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def reset(sock: socket.socket) -> None:
    """Close it so, now."""
    will_reset(sock)
    sock.close()
