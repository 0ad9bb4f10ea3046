"""The certificate that the appliance creates for gateway and console."""

from pathlib import Path

from runtime import certificate_files
from runtime.settings import Settings


def names(settings: Settings, *more: str) -> tuple[str, ...]:
    """Return the names and addresses for which the certificate must be valid."""
    from runtime import certificates  # takes a while

    return certificates.own_names(*settings.served_names, *more)


def is_meant(settings: Settings, *files: Path) -> bool:
    """Return whether this certificate and key are those that the appliance creates."""
    own = certificate_files.of(settings.state_dir)
    return files == (own.server, own.key)


def keep(settings: Settings, *files: Path) -> None:
    """Make sure that the certificate is valid, if `files` are those that the appliance creates.

    Raises CertificateError if it cannot be created.
    """
    if is_meant(settings, *files):
        from runtime import certificates  # slow to import, and only a start needs it

        certificates.keep(files[0].parent, names=names(settings))
