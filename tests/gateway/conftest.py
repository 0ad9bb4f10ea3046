"""Fixtures of all tests of the gateway. A test that is a coroutine runs in a new event loop."""

import inspect

import pytest

from tests.gateway.real_sockets import run
from tests.gateway.tls_customers import make_certificate


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    runner = pyfuncitem.funcargs.get("runner", run)
    runner(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Return a certificate for this machine, and the authority that has signed it."""
    return make_certificate(tmp_path_factory.mktemp("certificate"))
