"""A certificate for the tests over TLS."""

import pytest

from tests import certificate


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    return certificate.make(tmp_path_factory.mktemp("certificate"))
