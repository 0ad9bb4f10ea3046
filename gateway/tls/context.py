"""The gateway's TLS context: certificate, versions, resumption, and the call to the gate.

OpenSSL calls back for the server's name, even if the customer gave no name. It does so after it
has looked for a session to resume, and before it signs any message. A session id or ticket counts
only if it is valid, whatever the ClientHello claims. A refusal at that point costs no public-key
operation.
"""

import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal

TlsVersion = Literal["1.2", "1.3"]
VERSIONS: Final[Mapping[TlsVersion, ssl.TLSVersion]] = {
    "1.2": ssl.TLSVersion.TLSv1_2,
    "1.3": ssl.TLSVersion.TLSv1_3,
}
REFUSAL: Final = ssl.AlertDescription.ALERT_DESCRIPTION_ACCESS_DENIED
"""The alert that a refused customer gets."""

Ask = Callable[[bool], bool]
"""Returns whether a connection that resumes a session (True) or begins a session may continue."""


class CertificateError(ValueError):
    """The error for a file that cannot be used; `field` is the setting that names it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class AskedSSLObject(ssl.SSLObject):
    """One connection's TLS, and the gate's decision on it."""

    asked_as_resumed: bool | None = None
    """Whether the gate last decided on a resumed session; None: the ClientHello is not read yet."""
    is_accepted = False

    @property
    def is_refused(self) -> bool:
        return self.asked_as_resumed is not None and not self.is_accepted

    @property
    def is_as_asked(self) -> bool:
        """False if the handshake ended differently from the gate's assumption."""
        asked = self.asked_as_resumed
        return self.is_accepted and (asked is False or asked is bool(self.session_reused))


def server_context(certificate: Path, key: Path, minimum: TlsVersion, ask: Ask) -> ssl.SSLContext:
    """Return a context whose connections are `AskedSSLObject`s.

    The handshake's thread calls `ask`. Tickets and session ids (TLS 1.2) are good for this context
    alone. Raises CertificateError.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = VERSIONS[minimum]
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    context.set_alpn_protocols(["http/1.1"])
    context.sslobject_class = AskedSSLObject
    _load(context, certificate, key)

    # After a HelloRetryRequest OpenSSL calls it again: the same case is not decided twice. But a
    # customer that resumed then and does not any more needs a second decision.
    def decide(
        ssl_object: Any, server_name: str | None, _: ssl.SSLContext
    ) -> ssl.AlertDescription | None:
        is_resumed = bool(ssl_object.session_reused)
        asked = ssl_object.asked_as_resumed
        if asked is None or (asked and not is_resumed):
            ssl_object.asked_as_resumed = is_resumed
            ssl_object.is_accepted = ask(is_resumed)
        return None if ssl_object.is_accepted else REFUSAL

    context.sni_callback = decide
    return context


def _load(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    for field, path in (("tls_certificate", certificate), ("tls_key", key)):
        try:
            path.read_bytes()
        except OSError as error:
            raise CertificateError(field, f"{path}: {error.strerror}") from None
    try:
        # The empty password fails on an encrypted key; without it, OpenSSL would prompt at the
        # terminal.
        context.load_cert_chain(certificate, key, password="")
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            text = f"{key} is not the key of the certificate {certificate}"
            raise CertificateError("tls_key", text) from None
        # One call reads both files, and OpenSSL does not report which of them it could not read.
        try:
            ssl.create_default_context(cafile=certificate)
        except ssl.SSLError:
            text = f"{certificate} is not a certificate in PEM form"
            raise CertificateError("tls_certificate", text) from None
        why = (error.reason or str(error)).replace("_", " ").lower()
        text = f"{key} is not an unencrypted private key in PEM form that can be used here ({why})"
        raise CertificateError("tls_key", text) from None
