"""The check whether a server answers over HTTP, or over TLS with the expected certificate.

If the server does not answer, `python -m common.answering HOST PORT PATH [CERTIFICATE]` prints the
reason and ends with status 1.
"""

import http.client
import ssl
import sys
from pathlib import Path

from common import hosts

PAGE_TIMEOUT_S = 10.0


def get_refusal(host: str, port: int, path: str, trust: Path | None = None) -> str | None:
    """Return why `GET path` does not get status 200, or None if it does. The call uses no proxy.

    With `trust`, a PEM file, the call uses TLS. The server must present the file's first
    certificate; the host name is not checked.
    """
    scheme = "http" if trust is None else "https"
    url = f"{scheme}://{hosts.authority(host, port)}{path}"
    connection = http.client.HTTPConnection(host, port, timeout=PAGE_TIMEOUT_S)
    try:
        if trust is not None:
            connection = _Pinned(host, port, trust)
        connection.request("GET", path, headers={"User-Agent": "doorbuster-health"})
        response = connection.getresponse()
        response.read()
    except (OSError, ValueError, http.client.HTTPException) as error:
        return f"{url}: {error or type(error).__name__}"
    finally:
        connection.close()
    if response.status != 200:
        return f"{url} answered {response.status} {response.reason}"
    return None


class _Pinned(http.client.HTTPSConnection):
    """An HTTPS connection that accepts only one particular certificate."""

    def __init__(self, host: str, port: int, trust: Path) -> None:
        first, end, _ = trust.read_text(encoding="ascii").partition("-----END CERTIFICATE-----")
        self._wanted = ssl.PEM_cert_to_DER_cert(first[first.find("-----BEGIN") :] + end)
        self._trust = trust
        context = ssl.create_default_context(cadata=self._wanted)
        context.check_hostname = False  # instead, the certificate is compared
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        super().__init__(host, port, timeout=PAGE_TIMEOUT_S, context=context)

    def connect(self) -> None:
        super().connect()
        if self.sock.getpeercert(binary_form=True) != self._wanted:
            raise ConnectionError(f"its certificate is not the one in {self._trust}")


if __name__ == "__main__":
    host, port, path, *certificate = sys.argv[1:]
    sys.exit(get_refusal(host, int(port), path, Path(certificate[0]) if certificate else None))
