"""Fixtures of all tests of the gateway."""

import pytest

from tests.gateway.tls_customers import make_certificate


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Return a certificate for this machine, and the authority that has signed it."""
    return make_certificate(tmp_path_factory.mktemp("certificate"))
