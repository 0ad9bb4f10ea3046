"""Ctrl-C and SIGTERM before a command has begun."""

import signal

import pytest

from common import early_signals
from tests.programs import python

SIGNALS = [signal.SIGINT, signal.SIGTERM]
COMMANDS = [
    ["doorbuster", "policy", "list"],
    ["hosting", "ecm-status", "--socket", "/nowhere"],
]
AT_CLICK = """
import importlib.abc, os, runpy, sys

sign, module = int(sys.argv[1]), sys.argv[2]

class Signals(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "click":
            os.kill(os.getpid(), sign)

sys.meta_path.insert(0, Signals())
del sys.argv[:2]
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("sign", SIGNALS)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_command_that_is_still_imported_ends_in_one_line(command, sign):
    """The signal comes while the first of its large modules is looked for."""
    done = python("-c", AT_CLICK, str(int(sign)), *command)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "\nInterrupted.\n")


def test_the_handlers_before_come_back():
    before = [signal.getsignal(each) for each in SIGNALS]
    with early_signals.ending_at_once():
        assert [signal.getsignal(each) for each in SIGNALS] != before
    assert [signal.getsignal(each) for each in SIGNALS] == before
