"""Ports of this machine: free ports, and the processes that use the other ports."""

import contextlib
import errno
import random
import socket
from collections.abc import Collection
from pathlib import Path

import psutil

from common.hosts import LOOPBACK

LOWEST_FREE = 10_000
USUAL_FIRST_GIVEN = 32_768  # Linux' own default

_CONNECT_S = 10.0
_given: set[int] = set()


class AddressError(ValueError):
    """The error for an address that this machine does not have."""


def holder(port: int, host: str = LOOPBACK) -> str | None:
    """Return None if a server can listen on `port`. Otherwise, describe what uses or reserves the
    port: a process, or the system.

    Raises `AddressError` if this machine does not have the address `host`.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return _process_on(port) or "another user's process"
        if error.errno == errno.EACCES:
            return "the system (ports below 1024 are reserved for root)"
        raise AddressError(
            f"{host} is not an address of this machine ({error.strerror})"
        ) from error
    return None


def accepts(port: int) -> bool:
    """Return whether a server on this machine accepts connections on `port`."""
    try:
        socket.create_connection((LOOPBACK, port), timeout=_CONNECT_S).close()
    except OSError:
        return False
    return True


def first_free(start: int, avoid: Collection[int], host: str = LOOPBACK) -> int | None:
    """Return the first free port from `start` that is not in `avoid`, or None.

    Raises `AddressError` if this machine does not have the address `host`.
    """
    wanted = (port for port in range(start, 65536) if port not in avoid)
    return next((port for port in wanted if holder(port, host) is None), None)


def free(count: int, host: str = LOOPBACK) -> list[int]:
    """Return `count` free ports of `host`. A process that calls this function never gets the same
    port twice.

    The kernel does not give these ports to outgoing connections, so that they stay free until a
    server uses them.
    """
    found: list[int] = []
    while len(found) < count:
        port = random.SystemRandom().randrange(LOWEST_FREE, _first_given_by_the_kernel())
        if port not in _given and holder(port, host) is None:
            _given.add(port)
            found.append(port)
    return found


def _first_given_by_the_kernel() -> int:
    try:
        first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return USUAL_FIRST_GIVEN
    # Some machines reserve nearly all ports for connections.
    return first if first > LOWEST_FREE + 5_000 else USUAL_FIRST_GIVEN


def _process_on(port: int) -> str | None:
    try:
        connections = psutil.net_connections("tcp")
    except psutil.AccessDenied:
        return None
    for connection in connections:
        if connection.status != psutil.CONN_LISTEN or not connection.laddr:
            continue
        if connection.laddr.port == port and connection.pid:
            with contextlib.suppress(psutil.Error):
                process = psutil.Process(connection.pid)
                return f"process {process.pid} ({' '.join(process.cmdline())[:60]})"
    return None
