"""The certificate that the appliance makes for gateway and console."""

from pathlib import Path

from runtime import certificate_files
from runtime.settings import Settings


def names(settings: Settings, *more: str) -> tuple[str, ...]:
    """Return the names and addresses for which the certificate must be valid."""
    from runtime import certificates  # takes a while

    return certificates.own_names(*settings.served_names, *more)


def is_meant(settings: Settings, *files: Path) -> bool:
    """Return whether this certificate and key are the files that the appliance makes."""
    own = certificate_files.of(settings.state_dir)
    return files == (own.server, own.key)


def keep(settings: Settings, *files: Path) -> None:
    """Make the certificate if `files` are the files that the appliance makes and no valid
    certificate exists.

    Raises CertificateError.
    """
    if is_meant(settings, *files):
        from runtime import certificates  # takes a while, and only a start needs it

        certificates.keep(files[0].parent, names=names(settings))
