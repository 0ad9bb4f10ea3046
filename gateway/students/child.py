"""The child process: a student's policy, confined, which answers one event after the other.

It loads the modules that a policy may import, runs the policy, and reports errors by the policy's
lines. Only `confinement` protects: code in this process may change everything else.
"""

import importlib
import json
import os
import pkgutil
import sys
import traceback
import types
from collections.abc import Callable
from typing import Any

import gateway.policies
from gateway.policies.base import IgnoringPolicy
from gateway.policies.interface import Page, Policy
from gateway.students import confinement, purity, wire

_MOST_FAULT = 400


class _Line:
    """Messages on the one descriptor that is left."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._received = b""

    def receive(self) -> Any:
        """Return the next message; the process ends when the gateway closes the line."""
        (length,) = wire.HEAD.unpack(self._bytes(wire.HEAD.size))
        return json.loads(self._bytes(length))

    def send(self, content: bytes) -> None:
        """Send a packed message."""
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


class _Own:
    """The student's module and the policy it has made."""

    def __init__(self, name: str, text: str) -> None:
        self.module = types.ModuleType(f"own.{name.rpartition('/')[2].removesuffix('.py')}")
        sys.modules[self.module.__name__] = self.module
        exec(compile(text, name, "exec"), self.module.__dict__)

    def sheet(self) -> dict[str, Any]:
        if not hasattr(self.module, "SHEET"):
            raise wire.WireError("the file has no SHEET: SHEET = Sheet(name=…, idea=…, rule=…, …)")
        if not callable(getattr(self.module, "make", None)):
            raise wire.WireError("the file has no make(): def make(*, capacity: int): return …")
        return wire.sheet_said(self.module.SHEET)

    def make(self, parameters: dict[str, Any]) -> Policy:
        for name, value in parameters.items():
            if isinstance(value, dict):
                parameters[name] = {Page(page): number for page, number in value.items()}
        policy = self.module.make(**parameters)
        for method in ("arrival", "workers_free", "withdraw", "adopt", "waiting", "snapshot"):
            if not callable(getattr(policy, method, None)):
                raise wire.WireError(
                    f"the policy that make() returns has no method {method}; inherit from "
                    "IgnoringPolicy for events that you ignore, and write the other methods"
                )
        return policy  # type: ignore[no-any-return]


def main(descriptor: int, parent: int) -> None:
    """Serve the gateway at the other end of `descriptor` until it closes it, or read one file."""
    _import_all()
    line = _Line(descriptor)
    holding = confinement.confine(**line.receive(), parent=parent)
    line.send(wire.packed(holding))  # sent before a policy could fake it
    order, name, text = line.receive()
    if order == "read":
        line.send(wire.packed(wire.impurities_said(_impurities(text))))
        return
    own: _Own | None = None
    policy: Any = None
    try:
        own = _Own(name, text)
        content = wire.packed(own.sheet())
    except BaseException as fault:
        content = wire.packed({"fault": _words(fault, name, text)})
    while True:
        line.send(content)
        event, *values = line.receive()
        try:
            if event == "make":
                assert own is not None
                policy = own.make(values[0])
                answer: object = {"timer_s": _timer_s(policy), "ignores": _ignored(policy)}
            elif event == "snapshot":
                answer = dict(policy.snapshot())
            elif event == "waiting":
                answer = [request.id for request in policy.waiting()]
            else:
                answer = _told(policy, event, values)
            content = wire.packed(answer)  # a value that JSON lacks is the policy's fault
        except BaseException as fault:
            content = wire.packed({"fault": _words(fault, name, text)})


def _impurities(text: str) -> list[object]:
    """Return the impurities of this source, or why it is not Python; the source is not run.

    The confined process reads it: Python's parser can take far more time and memory than the size
    of the text suggests.
    """
    try:
        return list(purity.impurities(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as fault:
        line = getattr(fault, "lineno", None)
        what = getattr(fault, "msg", None) or str(fault) or "it is nested too deeply for Python"
        return [f"line {line}: {what}" if line else what]


def _ignored(policy: Any) -> list[str]:
    """Return the events that need not be sent: the policy has not written the method."""
    return [
        event
        for event in wire.MAY_BE_IGNORED
        if getattr(getattr(policy, event), "__func__", None) is getattr(IgnoringPolicy, event)
    ]


def _told(policy: Any, event: str, values: list[Any]) -> list[Any]:
    call: Callable[..., Any] = getattr(policy, event)
    verdicts = call(values[0], *wire.told(event, values[1:]))
    rows = [] if event in ("withdraw", "adopt") else wire.said(event, verdicts)
    return [rows, _timer_s(policy)]


def _timer_s(policy: Any) -> float | None:
    timer_s = policy.next_timer_s()
    return timer_s if timer_s is None else wire.timer_of(timer_s)


def _words(fault: BaseException, name: str, text: str) -> str:
    """Return one line for the policy's author: the place in the file, and the error."""
    if isinstance(fault, wire.WireError):
        return str(fault)[:_MOST_FAULT]
    what = traceback.format_exception_only(fault)[-1].strip()
    if isinstance(fault, SyntaxError):
        return f"line {fault.lineno}: {what}"[:_MOST_FAULT]
    if isinstance(fault, MemoryError):
        what = "MemoryError: it may use no more memory"
    own = [frame for frame in traceback.extract_tb(fault.__traceback__) if frame.filename == name]
    if not own:
        return what[:_MOST_FAULT]
    lines = text.splitlines()
    number = own[-1].lineno or 0
    code = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    return f"line {number}, in {own[-1].name}: {code}: {what}"[:_MOST_FAULT]


def _import_all() -> None:
    """Import all modules that a policy may import, while files can still be read."""
    for name in purity.MODULES:
        importlib.import_module(name)
    for found in pkgutil.iter_modules(gateway.policies.__path__, "gateway.policies."):
        importlib.import_module(found.name)
    traceback.format_exception_only(SyntaxError(""))  # imports modules on first use
