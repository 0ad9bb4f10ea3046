"""The files of an appliance's certificates.

runtime/certificates.py has their content; it takes a while to import, and most commands do not need
it.
"""

from dataclasses import dataclass
from pathlib import Path


class CertificateError(ValueError):
    """A certificate cannot be made or used; the message is one line."""


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """The certificate files in one folder, which need not exist yet."""

    folder: Path

    @property
    def authority(self) -> Path:
        """The authority's certificate, which a client has to trust."""
        return self.folder / "authority.pem"

    @property
    def server(self) -> Path:
        """The server's certificate."""
        return self.folder / "server.pem"

    @property
    def key(self) -> Path:
        """The server's private key, mode 600."""
        return self.folder / "server-key.pem"


def of(state_dir: Path) -> CertificateFiles:
    """Return the certificate files of the appliance with this state folder."""
    return CertificateFiles(state_dir / "certificates")
