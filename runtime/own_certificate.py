"""The certificate that the appliance makes for gateway and console."""

from pathlib import Path

from runtime import certificate_files
from runtime.settings import Settings


def names(settings: Settings, *more: str) -> tuple[str, ...]:
    """Return names and addresses for which it must be valid."""
    from runtime import certificates  # takes a while

    return certificates.own_names(*settings.served_names, *more)


def is_meant(settings: Settings, *files: Path) -> bool:
    """Return whether these files, a certificate and its key, are the appliance's own."""
    own = certificate_files.of(settings.state_dir)
    return files == (own.server, own.key)


def keep(settings: Settings, *files: Path) -> None:
    """Make the certificate if `files` are the appliance's and no good one exists.

    Raises CertificateError.
    """
    if is_meant(settings, *files):
        from runtime import certificates  # takes a while, and only a start needs it

        certificates.keep(files[0].parent, names=names(settings))
