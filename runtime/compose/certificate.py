"""The certificates of gateway and console that containers read.

If root starts the appliance with the user's own certificates, containers read copies of these,
because the containers' user cannot read root's keys.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from common import private_file
from runtime.settings import Settings, SettingsError


@dataclass(frozen=True, slots=True)
class Pair:
    """The certificate and the key of the gateway or of the console, as in the settings."""

    setting: str  # the prefix of both variables
    certificate: Path
    key: Path
    copies: Path
    is_own: bool
    """Whether this is the certificate that `make up` creates."""

    @property
    def mounted(self) -> tuple[Path, Path]:
        """The paths, on this machine, of the files that containers read."""
        if os.geteuid() or self.is_own:
            return self.certificate, self.key
        return self.copies / "server.pem", self.copies / "server-key.pem"

    def copy(self, own: Callable[[Path], None]) -> None:
        """Copy the files to the paths of `mounted`, unless containers read the original files.

        `own` makes the containers' user the owner of a path.

        Raises SettingsError if a file cannot be read.
        """
        if os.geteuid() or self.is_own:
            return
        self.copies.mkdir(mode=0o700, parents=True, exist_ok=True)
        own(self.copies)
        for source, path in zip((self.certificate, self.key), self.mounted, strict=True):
            try:
                content = source.read_bytes()
            except OSError as error:
                raise SettingsError(
                    f"{source} cannot be read: {error.strerror}; fix: set "
                    f"{self.setting}_CERTIFICATE and {self.setting}_KEY to files that exist, or "
                    "set neither"
                ) from None
            private_file.write(path, content)
            own(path)


def pairs(settings: Settings) -> list[Pair]:
    """Return the certificates that containers read: the gateway's and, if the console has accounts,
    the console's.
    """
    found = [("GATEWAY", settings.gateway_tls_certificate, settings.gateway_tls_key)]
    if settings.lab_accounts:
        found.append(("LAB", settings.lab_tls_certificate, settings.lab_tls_key))
    return [
        Pair(
            setting=f"DOORBUSTER_{part}_TLS",
            certificate=certificate,
            key=key,
            copies=settings.state_dir / f"certificate-copies/{part.lower()}",
            is_own=settings.creates_certificate(certificate, key),
        )
        for part, certificate, key in found
    ]
