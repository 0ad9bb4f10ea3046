"""Where the certificates of an appliance lie.

Owns: names of files. Must not know: what is in them (runtime/certificates.py; it takes a while to
import, and most commands need no more than this).
"""

from dataclasses import dataclass
from pathlib import Path


class CertificateError(ValueError):
    """A certificate cannot be made or used; the message is one line."""


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """The files in one folder, which may not have been made yet."""

    folder: Path

    @property
    def authority(self) -> Path:
        """The authority's certificate: what a client has to trust."""
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
    """Those of the appliance with this state folder."""
    return CertificateFiles(state_dir / "certificates")
