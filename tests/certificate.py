"""A certificate for tests, made by the machine's openssl."""

import ssl
import subprocess
from pathlib import Path
from typing import NamedTuple

from tests.skips import needs

needs_openssl = needs("openssl")


class Certificate(NamedTuple):
    """The paths of key and certificate, and a context that trusts them."""

    key: Path
    chain: Path

    def for_server(self) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.chain, self.key)
        context.num_tickets = 0  # a client that closes over a ticket it has not read sends a reset
        return context

    def for_client(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.chain)
        context.check_hostname = False
        return context


def make(folder: Path) -> Certificate:
    """Make a key and a certificate that it has signed itself."""
    made = Certificate(folder / "key.pem", folder / "certificate.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=shop",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
         "-keyout", made.key, "-out", made.chain],
        check=True, capture_output=True,
    )  # fmt: skip
    return made
