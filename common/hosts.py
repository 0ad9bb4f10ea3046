"""Hosts in settings: their allowed forms, and their addresses."""

import ipaddress
import re
import socket

EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""The wildcard addresses. A server that listens on one of them listens on all addresses of its
machine. The value is the loopback address at which this machine reaches the server.
"""

LOOPBACK = "127.0.0.1"

_FORM = "a name or an address without port, e.g. shop, shop.example, 10.0.0.5 or ::1"
# Names of Compose services may have underscores, unlike names of machines.
_LABEL = r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_NAME = re.compile(rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})*")


def listening(text: str) -> str:
    """Return the host if a server can listen on it; otherwise raise ValueError, which shows the
    allowed form.
    """
    host = text.removeprefix("[").removesuffix("]").lower()
    if not _is_address(host) and (not _NAME.fullmatch(host) or host.rpartition(".")[2].isdigit()):
        raise ValueError(f"not a host; allowed: {_FORM}")
    return host


def reached(text: str) -> str:
    """Return the host if its form is one that a client can call. Raises ValueError for any other
    text, also for addresses such as 0.0.0.0.
    """
    host = listening(text)
    if host in EVERYWHERE:
        raise ValueError(f"the address for all interfaces cannot be called; allowed: {_FORM}")
    return host


def from_here(host: str) -> str:
    """Return the address at which this machine reaches its server that listens on `host`."""
    return EVERYWHERE.get(host, host)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    # A name may have any address.
    return _is_address(host) and ipaddress.ip_address(host).is_loopback


def authority(host: str, port: int) -> str:
    """Return `host:port` as URLs write it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def host_of(authority: str) -> str:
    """Return the host in a request's Host field (`host` or `host:port`), in lower case."""
    host = authority if authority.endswith("]") else authority.rsplit(":", 1)[0]
    return host.removeprefix("[").removesuffix("]").lower()


def unknown(host: str) -> str | None:
    """Return why this machine cannot resolve `host` now, or None if it can."""
    try:
        socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        return getattr(error, "strerror", None) or str(error)
    return None


def address(host: str) -> str:
    """Return an address of `host`, preferably IPv4, for programs that do not accept names. Raises
    OSError or UnicodeError if it cannot be resolved.
    """
    if _is_address(host):
        return host
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    found.sort(key=lambda each: each[0] != socket.AF_INET)
    return str(found[0][4][0])


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
