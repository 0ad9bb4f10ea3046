"""The exceptions whose text is shown to the user without a traceback, and the faults that they
carry as data.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from common.bounded import BoundedError


@dataclass(frozen=True, slots=True)
class Fault:
    """The reason why one value is invalid, and the allowed values."""

    place: Sequence[str]
    """The origin of the value, such as a file's name, and its key or option. Both can be empty or
    left out.
    """
    reason: str
    allowed: str = ""

    @property
    def field(self) -> str:
        """The key or option of the value; empty without a place."""
        return self.place[-1] if self.place else ""

    def __str__(self) -> str:
        text = ": ".join(filter(None, (*self.place, self.reason)))
        return f"{text}; allowed: {self.allowed}" if self.allowed else text


class FaultError(Exception):
    """The base of errors with faults. The text has a line for each fault."""

    faults: tuple[Fault, ...]

    def __init__(self, *words: str, allowed: str = "") -> None:
        """Take one fault: its place, from the outside to the inside, and last the reason."""
        super().__init__(*words)
        *place, reason = words
        self.faults = (Fault(place, reason, allowed),)

    @classmethod
    def of(cls, faults: Iterable[Fault]) -> Self:
        """Return the error with these faults."""
        error = cls("")
        error.faults = tuple(faults)
        return error

    @classmethod
    def of_child(cls, error: "BoundedError") -> Self:
        """Return the error that a function raised in a child process of `common.bounded`."""
        if error.facts is None:
            return cls(str(error))
        return cls.of(Fault(**one) for one in error.facts)

    @property
    def facts(self) -> list[dict[str, Any]]:
        """The faults as JSON values, which `common.bounded` passes to the parent process."""
        return [asdict(fault) for fault in self.faults]

    def __str__(self) -> str:
        return "\n".join(map(str, self.faults))


class InvalidError(FaultError, ValueError):
    """The error for an invalid section of a spec. A check of the section raises it, and Pydantic
    collects it.
    """


class ExperimentError(Exception):
    """An error whose text, of one or a few lines, explains the fault to the user."""


class SpecError(FaultError, ExperimentError):
    """The error for an invalid spec, option or setting, raised before any work begins."""
