"""The text of a student's policy, and the calls to the policy, as messages to the confined process
(`process.Child`) or the visitor's browser that has loaded the policy.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from gateway.plain_json import Most
from gateway.policies import stem
from gateway.policies.interface import NOTHING, Verdicts
from gateway.policies.sheet import Sheet
from gateway.students import wire
from gateway.students.limits import MOST_WAITING

T = TypeVar("T")


@dataclass(frozen=True)
class PolicyFile:
    """The text of a policy, and the name that the caller used for it."""

    name: str
    text: str

    @property
    def stem(self) -> str:
        """The name of the policy in tables, pages and metrics."""
        return stem(self.name)

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 digest of the text in hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()


class MisbehavedError(Exception):
    """The error for a policy that failed, ended, answered too late or gave an invalid answer; the
    message is one line.
    """


class Calls(ABC):
    """A policy in another process or a browser. Every method may raise MisbehavedError."""

    sheet: Sheet
    timer_s: float | None = None
    """The time, in paper seconds, at which the policy's timer is due; None means never. The
    value is valid once the policy has been created.
    """
    ignores: frozenset[str] = frozenset()
    """The events that the policy ignores, and therefore does not receive."""
    end: Callable[[], object]
    """A function that ends the policy's process or page; repeated calls are harmless."""

    @abstractmethod
    def begin(self, message: object, what: str, most: Most = wire.ABOUT_NONE) -> Any:
        """Return the answer to a message during the start; the time limit covers the
        whole start.
        """

    @abstractmethod
    def decision(self, message: object, what: str, reader: Callable[[object], T], most: Most) -> T:
        """Return the answer to a message, as read by `reader`. The time limit of a decision
        applies, because a request may be waiting for the answer.
        """

    @abstractmethod
    def cpu_s(self) -> float:
        """Return the CPU seconds that the policy has used."""

    def load(self, file: PolicyFile) -> None:
        """Load the file, and set `sheet` to its data sheet."""
        answer = self.begin(["load", file.name, file.text], "the file", wire.OF_A_FILE)
        self.sheet = read(wire.sheet_of, answer)

    def make(self, parameters: Mapping[str, Any]) -> None:
        """Create a new policy with these checked parameters, and set `timer_s` and `ignores`."""
        answer = self.begin(["make", parameters], "make()")
        self.timer_s, self.ignores = read(wire.made_of, answer)

    def tell(self, event: str, time_s: float, told: tuple[Any, ...], about: int) -> Verdicts:
        """Return the policy's verdicts on an event, and update `timer_s`. `about`, the number of
        requests that can get a verdict, limits the size of the answer.
        """
        if event in self.ignores:
            return NOTHING
        message = [event, time_s, *map(wire.plain, told)]
        self.timer_s, verdicts = self.decision(
            message, event, wire.decision_of, wire.most_about(about)
        )
        return verdicts

    def snapshot(self) -> dict[str, object]:
        return self.decision(["snapshot"], "snapshot()", wire.snapshot_of, wire.most_about(0))

    def waiting(self) -> Sequence[int]:
        """Return the ids of the requests that wait according to the policy."""
        most = wire.most_about(MOST_WAITING)
        return self.decision(["waiting"], "waiting()", wire.waiting_of, most)


def unfaulty(answer: Any) -> Any:
    """Return an answer unchanged; raise MisbehavedError if it contains a `fault`."""
    if type(answer) is dict and "fault" in answer:
        raise MisbehavedError(printable(answer["fault"]))
    return answer


def read(reader: Callable[[object], T], value: object) -> T:
    """Return an answer as read by `reader`; raise MisbehavedError if it is invalid."""
    try:
        return reader(value)
    except wire.WireError as fault:
        raise MisbehavedError(printable(str(fault))) from None
    except (OverflowError, RecursionError, TypeError, ValueError):
        raise MisbehavedError("its answer does not have the right form") from None


def printable(text: Any) -> str:
    """Return a description of any value in one line of at most 500 characters."""
    words = text if isinstance(text, str) else wire.shown(text)
    return "".join(c if c.isprintable() else " " for c in words[:500])
