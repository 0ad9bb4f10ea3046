"""Hosts in settings: their allowed forms, and functions that convert a host to an address."""

import ipaddress
import re
import socket

EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""The addresses with which a server listens on all addresses of the machine. The value is the
address at which the same machine reaches this server.
"""

LOOPBACK = "127.0.0.1"

_FORM = "a name or an address without port, e.g. shop, shop.example, 10.0.0.5 or ::1"
# Names of Compose services may have an underscore, though names of machines may not.
_LABEL = r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_NAME = re.compile(rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})*")


def listening(text: str) -> str:
    """Return the host if a server can listen on it; otherwise raise ValueError, which gives the
    allowed form.
    """
    host = text.removeprefix("[").removesuffix("]").lower()
    if not _is_address(host) and (not _NAME.fullmatch(host) or host.rpartition(".")[2].isdigit()):
        raise ValueError(f"not a host; allowed is {_FORM}")
    return host


def reached(text: str) -> str:
    """Return the host if other machines or processes can call it; otherwise raise ValueError. It is
    raised for an address such as 0.0.0.0, too.
    """
    host = listening(text)
    if host in EVERYWHERE:
        raise ValueError(f"the address for all interfaces cannot be called; allowed is {_FORM}")
    return host


def from_here(host: str) -> str:
    """Return the address at which a machine reaches a server that listens on its host `host`."""
    return EVERYWHERE.get(host, host)


def is_loopback(host: str) -> bool:
    """Return whether the text of the host shows that it can be reached only from this machine."""
    if host == "localhost":
        return True
    # A name may lead anywhere.
    return _is_address(host) and ipaddress.ip_address(host).is_loopback


def authority(host: str, port: int) -> str:
    """Return `host:port` in the form used in URLs."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def host_of(authority: str) -> str:
    """Return the host in `host:port` or `host`, the form of a Host field in a request, in lower
    case.
    """
    host = authority if authority.endswith("]") else authority.rsplit(":", 1)[0]
    return host.removeprefix("[").removesuffix("]").lower()


def unknown(host: str) -> str | None:
    """Return the reason why this machine cannot resolve `host` now; None if it can."""
    try:
        socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        return getattr(error, "strerror", None) or str(error)
    return None


def address(host: str) -> str:
    """Return an address of `host` for programs that do not accept names; an IPv4 address if there
    is one. Raises OSError or UnicodeError when this machine cannot resolve the name.
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
