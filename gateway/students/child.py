"""The child process, in which a confined student's policy answers one event after another.

Only `confinement` protects the machine, because the policy's code can change everything else in
this process.
"""

import importlib
import json
import os
import pkgutil
import traceback
from typing import Any, BinaryIO

import gateway.policies
from gateway.students import confinement, loaded, purity, wire


def main(descriptor: int, parent: int) -> None:
    """Answer the gateway at the other end of `descriptor` until the gateway closes the connection.
    If the first order is `read`, only check one file.
    """
    _import_all()
    # The confined process may not close a file; the end of the process closes the connection.
    with (
        open(descriptor, "rb", closefd=False) as received,
        open(descriptor, "wb", closefd=False) as sent,
    ):
        holding = confinement.confine(**_receive(received), parent=parent)
        _send(sent, wire.packed(holding))  # sent before the policy's code could forge it
        order, name, text = _receive(received)
        if order == "read":
            _send(sent, wire.packed(wire.impurities_said(loaded.impurities(text))))
            return
        policy = loaded.Loaded(name, text)
        content = policy.sheet()
        while True:
            _send(sent, content)
            content = policy.answer(_receive(received))


def _receive(received: BinaryIO) -> Any:
    """Return the next message; end the process when the gateway has closed the connection."""
    if len(head := received.read(wire.HEAD.size)) == wire.HEAD.size:
        (length,) = wire.HEAD.unpack(head)
        if len(content := received.read(length)) == length:
            return json.loads(content)
    os._exit(0)


def _send(sent: BinaryIO, content: bytes) -> None:
    sent.write(content)
    sent.flush()


def _import_all() -> None:
    """Import all modules that a policy may import, while files can still be read."""
    for name in purity.MODULES:
        importlib.import_module(name)
    for found in pkgutil.iter_modules(gateway.policies.__path__, "gateway.policies."):
        importlib.import_module(found.name)
    traceback.format_exception_only(SyntaxError(""))  # this call imports further modules
