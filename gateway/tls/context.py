"""The gateway's TLS context: certificate, versions, resumption, and the calls to the gate.

In every handshake, OpenSSL calls the server-name callback after the search for a session to resume,
and before the first signature. So only a valid session id or ticket counts as resumption, and a
refusal costs no public-key operation.
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
"""The TLS alert that a refused customer gets."""

Ask = Callable[[bool], bool]
"""A function that returns whether a connection may continue; its argument is true if the connection
resumes a session.
"""


class CertificateError(ValueError):
    """The error for an unusable certificate or key; `field` is the setting that names the file."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class AskedSSLObject(ssl.SSLObject):
    """The TLS layer of a connection, with the gate's decision about it."""

    asked_as_resumed: bool | None = None
    """Whether the gate's latest decision was for a resumed session; None until the ClientHello has
    been read.
    """
    is_accepted = False

    @property
    def is_refused(self) -> bool:
        return self.asked_as_resumed is not None and not self.is_accepted

    @property
    def is_as_asked(self) -> bool:
        """Whether the gate accepted the connection. If the gate accepted it as resumed, the
        connection must also have resumed a session.
        """
        asked = self.asked_as_resumed
        return self.is_accepted and (asked is False or asked is bool(self.session_reused))


def server_context(certificate: Path, key: Path, minimum: TlsVersion, ask: Ask) -> ssl.SSLContext:
    """Return a context whose connections are `AskedSSLObject`s; the handshake's thread calls `ask`.
    TLS 1.2 tickets and session ids are valid only for this context. Raises CertificateError if a
    file is unusable.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = VERSIONS[minimum]
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    context.set_alpn_protocols(["http/1.1"])
    context.sslobject_class = AskedSSLObject
    _load(context, certificate, key)

    # After a HelloRetryRequest, OpenSSL calls this again. The gate decides a second time only if
    # the customer no longer resumes the session.
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
        # With an encrypted key, the empty password fails; without it, OpenSSL would prompt at the
        # terminal.
        context.load_cert_chain(certificate, key, password="")
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            text = f"{key} is not the key of the certificate in {certificate}"
            raise CertificateError("tls_key", text) from None
        # One call reads both files, and OpenSSL does not report which file was unreadable.
        try:
            ssl.create_default_context(cafile=certificate)
        except ssl.SSLError:
            text = f"{certificate} is not a certificate in PEM form"
            raise CertificateError("tls_certificate", text) from None
        why = (error.reason or str(error)).replace("_", " ").lower()
        text = f"{key} is not a usable, unencrypted private key in PEM form ({why})"
        raise CertificateError("tls_key", text) from None
