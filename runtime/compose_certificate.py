"""The gateway's certificate where containers read it.

Owns: which files are mounted; as root a copy of one's own certificate, whose key is root's alone,
for the user of the containers, which is not root. Must not know: how certificates are made.
"""

import os
from collections.abc import Callable
from pathlib import Path

from runtime import certificate_files, private_file
from runtime.settings import Settings, SettingsError

_NAMES = ("server.pem", "server-key.pem")


def is_made(settings: Settings) -> bool:
    """Whether it is one that `make up` makes."""
    made = certificate_files.of(settings.state_dir)
    return _chosen(settings) == (made.server, made.key)


def mounted(settings: Settings) -> tuple[Path, Path]:
    """Certificate and key, on this machine."""
    if os.geteuid() or is_made(settings):
        return _chosen(settings)
    certificate, key = (_copies(settings) / name for name in _NAMES)
    return certificate, key


def copy(settings: Settings, own: Callable[[Path], None]) -> None:
    """Make what `mounted` names, `own` being how a file is handed to the containers' user.

    Raises SettingsError for one that cannot be read.
    """
    if os.geteuid() or is_made(settings):
        return
    _copies(settings).mkdir(mode=0o700, parents=True, exist_ok=True)
    own(_copies(settings))
    for source, path in zip(_chosen(settings), mounted(settings), strict=True):
        try:
            content = source.read_bytes()
        except OSError as error:
            raise SettingsError(
                f"{source} cannot be read: {error.strerror}; mend: "
                "DOORBUSTER_GATEWAY_TLS_CERTIFICATE and _KEY name files that are there, or none"
            ) from None
        private_file.write(path, content)
        own(path)


def _chosen(settings: Settings) -> tuple[Path, Path]:
    return settings.gateway_tls_certificate, settings.gateway_tls_key


def _copies(settings: Settings) -> Path:
    return settings.state_dir / "certificate-copies"
