"""The address of the shop, resolved once, and the certificates that customers trust there."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gevent import socket, ssl


class HostError(ValueError):
    """An address of the shop, or an authority, that customers cannot use; one line."""


@dataclass(frozen=True, slots=True)
class ShopAddress:
    """The address to connect to, the value of the `Host` field, and the identity expected for
    https."""

    family: int
    peer: tuple[Any, ...]
    """The address as `getaddrinfo` returns it; its form depends on the family."""
    host_field: str
    host_name: str = ""
    """The name or address for which the certificate must be valid."""
    tls: ssl.SSLContext | None = None
    """One context for all customers; None: plain HTTP."""

    @property
    def scheme(self) -> str:
        return "http" if self.tls is None else "https"

    @classmethod
    def from_url(cls, url: str, authority: Path | None = None) -> "ShopAddress":
        """Resolve `http[s]://host[:port]`, once for all customers.

        `authority` is a PEM file with the certificates to trust over https; without it those of the
        system are. Raises `HostError` for anything else, for a name that has no address, and for an
        authority that cannot be read or holds no certificates.
        """
        fix = "give http://host:port or https://host:port, e.g. http://127.0.0.1:8080"
        try:
            parts = urlsplit(url)
            port = parts.port or {"https": 443}.get(parts.scheme, 80)
        except ValueError as error:
            raise HostError(f"--host {url}: {error}; {fix}") from None
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
            raise HostError(f"--host {url}: not an address of the shop; {fix}")
        if authority is not None and parts.scheme != "https":
            raise HostError(f"--authority: {url} has no certificate; give an https:// --host")
        try:
            found = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise HostError(f"--host {url}: {error.strerror or error}; {fix}") from None
        family, _, _, _, peer = found[0]
        tls = _trusting(authority) if parts.scheme == "https" else None
        return cls(family, peer, parts.netloc.rpartition("@")[2], parts.hostname, tls)


def _trusting(authority: Path | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if authority is None:
        context.load_default_certs()
        return context
    try:
        context.load_verify_locations(authority)
    except ssl.SSLError:
        raise HostError(
            f"--authority {authority}: no certificate in it; give a PEM file of certificates"
        ) from None
    except OSError as error:
        raise HostError(
            f"--authority {authority}: {error.strerror}; give a PEM file of certificates"
        ) from None
    return context
