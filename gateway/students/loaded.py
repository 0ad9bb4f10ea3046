"""A student's policy after loading. It answers the messages of `wire`, and its errors name the
faulty lines. The confined child process and a visitor's browser both use this module. The module
itself does not confine the policy.
"""

import sys
import traceback
import types
from collections.abc import Callable
from typing import Any

from gateway.policies.base import IgnoringPolicy
from gateway.policies.interface import Page
from gateway.students import purity, wire

_MOST_FAULT = 400


class Loaded:
    """A student's file, and the policy that it has created."""

    def __init__(self, name: str, text: str) -> None:
        self._name, self._text = name, text
        self._module = types.ModuleType(f"own.{name.rpartition('/')[2].removesuffix('.py')}")
        self._policy: Any = None

    def sheet(self) -> bytes:
        """Run the file and return its data sheet, or its fault, as a packed message."""
        try:
            sys.modules[self._module.__name__] = self._module
            exec(compile(self._text, self._name, "exec"), self._module.__dict__)
            return wire.packed(_sheet(self._module))
        except BaseException as fault:
            return self._fault(fault)

    def answer(self, message: Any) -> bytes:
        """Return the answer to an event, or the policy's fault, as a packed message."""
        event, *values = message
        try:
            if event == "make":
                policy = self._policy = _made(self._module, values[0])
                answer: object = {"timer_s": _timer_s(policy), "ignores": _ignored(policy)}
            elif event == "snapshot":
                answer = dict(self._policy.snapshot())
            elif event == "waiting":
                answer = [request.id for request in self._policy.waiting()]
            else:
                answer = _told(self._policy, event, values)
            return wire.packed(answer)  # a value that JSON cannot express is the policy's fault
        except BaseException as fault:
            return self._fault(fault)

    def _fault(self, fault: BaseException) -> bytes:
        return wire.packed({"fault": _words(fault, self._name, self._text)})


def _sheet(module: Any) -> dict[str, Any]:
    if not hasattr(module, "SHEET"):
        raise wire.WireError("the file has no SHEET; add SHEET = Sheet(name=…, idea=…, …)")
    if not callable(getattr(module, "make", None)):
        raise wire.WireError("the file has no make(); add def make(*, capacity: int): return …")
    return wire.sheet_said(module.SHEET)


def _made(module: Any, parameters: dict[str, Any]) -> Any:
    for name, value in parameters.items():
        if isinstance(value, dict):
            parameters[name] = {Page(page): number for page, number in value.items()}
    policy = module.make(**parameters)
    for method in ("arrival", "workers_free", "withdraw", "adopt", "waiting", "snapshot"):
        if not callable(getattr(policy, method, None)):
            raise wire.WireError(
                f"the policy that make() returns has no method {method}; inherit from "
                "IgnoringPolicy for events that you ignore, and write the other methods"
            )
    return policy


def impurities(text: str) -> list[object]:
    """Return the impurities of this source, or the reason why it is not Python, without running it.
    Call this only in a process with limits or in a browser: Python's parser may need much time and
    memory even for a short text.
    """
    try:
        return list(purity.impurities(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as fault:
        line = getattr(fault, "lineno", None)
        what = (
            getattr(fault, "msg", None) or str(fault) or "the code is nested too deeply for Python"
        )
        return [f"line {line}: {what}" if line else what]


def _ignored(policy: Any) -> list[str]:
    """Return the names of the events that the policy ignores, because it does not define them."""
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
    """Return one line for the policy's author: the error, and its place in the file."""
    if isinstance(fault, wire.WireError):
        return str(fault)[:_MOST_FAULT]
    what = traceback.format_exception_only(fault)[-1].strip()
    if isinstance(fault, SyntaxError):
        return f"line {fault.lineno}: {what}"[:_MOST_FAULT]
    if isinstance(fault, MemoryError):
        what = "MemoryError: the policy has reached its memory limit"
    own = [frame for frame in traceback.extract_tb(fault.__traceback__) if frame.filename == name]
    if not own:
        return what[:_MOST_FAULT]
    lines = text.splitlines()
    number = own[-1].lineno or 0
    code = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    return f"line {number}, in {own[-1].name}: {code}: {what}"[:_MOST_FAULT]
