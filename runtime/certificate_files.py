"""The paths of an appliance's certificate files, and the allowed kinds of key.

`runtime.certificates` creates the files. The paths are in this separate module, because the import
of `runtime.certificates` is slow and most commands do not need it.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CHEAP_KEY: Final = "ec-p256"
LEAST_RSA_BITS: Final = 2048
MOST_RSA_BITS: Final = 16384
KEYS: Final = (
    f"{CHEAP_KEY}, or rsa-N with N from {LEAST_RSA_BITS} to {MOST_RSA_BITS} in steps of 8 "
    "(rsa-2048, rsa-7680, …)"
)


class CertificateError(ValueError):
    """The error for a certificate that cannot be created or used; the message is one line."""


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """The paths of a folder's certificate files, which need not exist yet."""

    folder: Path

    @property
    def authority(self) -> Path:
        """The authority's certificate, which clients must trust."""
        return self.folder / "authority.pem"

    @property
    def server(self) -> Path:
        return self.folder / "server.pem"

    @property
    def key(self) -> Path:
        """The server's private key, mode 600."""
        return self.folder / "server-key.pem"


def of(state_dir: Path) -> CertificateFiles:
    """Return the certificate files of the appliance with this state folder."""
    return CertificateFiles(state_dir / "certificates")


def rsa_bits(kind: str) -> int | None:
    """Return the size of an RSA key of this kind, or None for `ec-p256`. Raises CertificateError
    for any other kind or size.

    Keys of 1024 bits, as in the eDragon paper, are not possible. Python's TLS and Linux
    distributions use OpenSSL's security level 2, which requires at least 2048 bits.
    """
    if kind == CHEAP_KEY:
        return None
    wanted = re.fullmatch(r"rsa-([1-9][0-9]{0,5})", kind)
    bits = int(wanted[1]) if wanted else 0
    if 0 < bits < LEAST_RSA_BITS:
        raise CertificateError(
            f"key {kind}: too short: OpenSSL's security level 2, which gateway and customers "
            f"use, requires at least {LEAST_RSA_BITS} bits; allowed: {KEYS}"
        )
    if not 0 < bits <= MOST_RSA_BITS or bits % 8:
        raise CertificateError(f"key {kind}: unknown kind of key; allowed: {KEYS}")
    return bits
