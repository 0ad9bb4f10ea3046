"""Waiting for what another process does, with patience for a busy machine."""

import time


def wait_until(happened, within_s=240.0):
    """What `happened()` answers once it is true; fails if it never is."""
    deadline_s = time.monotonic() + within_s
    while not (found := happened()):
        assert time.monotonic() < deadline_s, "it never happened"
        time.sleep(0.05)
    return found
