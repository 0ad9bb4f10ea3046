"""The child process, in which a confined student's policy answers one event after another.

Only `confinement` protects the machine, because the policy's code can change everything else in
this process.
"""

import importlib
import json
import os
import pkgutil
import traceback
from typing import Any

import gateway.policies
from gateway.students import confinement, loaded, purity, wire


class _Line:
    """The connection to the gateway."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._received = b""

    def receive(self) -> Any:
        """Return the next message; end the process when the gateway has closed the connection."""
        (length,) = wire.HEAD.unpack(self._bytes(wire.HEAD.size))
        return json.loads(self._bytes(length))

    def send(self, content: bytes) -> None:
        while content:
            content = content[os.write(self._descriptor, content) :]

    def _bytes(self, length: int) -> bytes:
        while len(self._received) < length:
            found = os.read(self._descriptor, 65_536)
            if not found:
                os._exit(0)
            self._received += found
        content, self._received = self._received[:length], self._received[length:]
        return content


def main(descriptor: int, parent: int) -> None:
    """Answer the gateway at the other end of `descriptor` until the gateway closes the connection.
    If the first order is `read`, only check one file.
    """
    _import_all()
    line = _Line(descriptor)
    holding = confinement.confine(**line.receive(), parent=parent)
    line.send(wire.packed(holding))  # sent before the policy's code could forge it
    order, name, text = line.receive()
    if order == "read":
        line.send(wire.packed(wire.impurities_said(loaded.impurities(text))))
        return
    policy = loaded.Loaded(name, text)
    content = policy.sheet()
    while True:
        line.send(content)
        content = policy.answer(line.receive())


def _import_all() -> None:
    """Import all modules that a policy may import, while files can still be read."""
    for name in purity.MODULES:
        importlib.import_module(name)
    for found in pkgutil.iter_modules(gateway.policies.__path__, "gateway.policies."):
        importlib.import_module(found.name)
    traceback.format_exception_only(SyntaxError(""))  # this call imports further modules
