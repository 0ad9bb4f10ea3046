"""What all tests of the gateway share."""

import pytest

from tests.gateway.tls_customers import make_certificate


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """A certificate for this machine, and the authority that has signed it."""
    return make_certificate(tmp_path_factory.mktemp("certificate"))
