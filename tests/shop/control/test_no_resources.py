"""The controller of a process that sometimes can start no thread and open no file."""

import http.client
import os
import resource
import socket
from contextlib import contextmanager

import pytest

from shop.control import controller
from tests.shop.thread_limit import no_more_threads


@contextmanager
def no_more_files():
    """Let every new file fail, also those that `accept` opens."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.parametrize("lack", [no_more_threads, no_more_files])
def test_the_controller_answers_again_after_a_lack(lack):
    """A lack of threads or files must not end the thread that accepts connections."""
    port = controller.start(0)
    with socket.socket() as early:
        early.settimeout(20)
        with lack():
            early.connect(("127.0.0.1", port))
            if lack is no_more_threads:
                assert early.recv(1) == b""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", "/nothing")
    assert connection.getresponse().status == 404
    connection.close()
