"""The certificate that the appliance makes for itself, for gateway and console.

Owns: for which names it must be good, when it is made. Must not know: how certificates are made,
who reads them.
"""

from pathlib import Path

from runtime import certificate_files
from runtime.settings import Settings


def names(settings: Settings, *more: str) -> tuple[str, ...]:
    """Names and addresses that it must be good for."""
    from runtime import certificates  # takes a while

    return certificates.own_names(*settings.served_names, *more)


def is_meant(settings: Settings, *files: Path) -> bool:
    """Whether these files, a certificate and its key, are the appliance's own."""
    own = certificate_files.of(settings.state_dir)
    return files == (own.server, own.key)


def keep(settings: Settings, *files: Path) -> None:
    """Make it if it is meant by `files` and there is no good one. Raises CertificateError."""
    if is_meant(settings, *files):
        from runtime import certificates  # takes a while, and only a start needs it

        certificates.keep(files[0].parent, names=names(settings))
