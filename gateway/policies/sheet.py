"""A policy's data sheet: its idea, its source, and its parameters with their checks."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from gateway.policies import PolicyError
from gateway.policies.interface import Page

ParameterValue = int | float | dict[Page, float]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A policy's parameter; its values have the type of `default`. If `default` is a mapping, there
    is one value for each page type, and an omitted page type keeps its default. `low` and `high`
    are the smallest and the largest allowed value.
    """

    name: str
    default: int | float | Mapping[Page, float]
    unit: str
    meaning: str
    source: str
    low: float
    high: float

    @property
    def allowed(self) -> str:
        """A description of the allowed values."""
        span = f"from {_written(self.low)} to {_written(self.high)}"
        if isinstance(self.default, Mapping):
            return f"a table with a number for each page type ({', '.join(Page)}), each {span}"
        return f"{'a whole number' if isinstance(self.default, int) else 'a number'} {span}"

    def read(self, given: object) -> ParameterValue:
        """Return `given` as a checked value of the parameter; if it is invalid, raise PolicyError,
        which names the field.
        """
        field = f"parameters.{self.name}"
        if isinstance(self.default, Mapping):
            if not isinstance(given, Mapping) or any(key not in set(Page) for key in given):
                raise PolicyError(field, f"{given!r} is invalid", self.allowed)
            numbers = {Page(key): self._number(f"{field}.{key}", v) for key, v in given.items()}
            return {**self.default, **numbers}
        number = self._number(field, given)
        if isinstance(self.default, int) and not isinstance(number, int):
            raise PolicyError(field, f"{given!r} is invalid", self.allowed)
        return number if isinstance(self.default, int) else float(number)

    def _number(self, field: str, given: object) -> int | float:
        if isinstance(given, bool) or not isinstance(given, int | float):
            raise PolicyError(field, f"{given!r} is not a number", self.allowed)
        if not self.low <= given <= self.high:
            raise PolicyError(field, f"{given!r} is out of range", self.allowed)
        return given


def parameters(
    source: str, *rows: tuple[str, int | float | Mapping[Page, float], str, str, float, float]
) -> tuple[Parameter, ...]:
    """Return one parameter for each row, all with the same source. A row contains the fields of
    `Parameter` in order, without `source`.
    """
    return tuple(Parameter(*row[:4], source, *row[4:]) for row in rows)


@dataclass(frozen=True, slots=True)
class Sheet:
    """A policy's documentation. In `rule`, the names of parameters stand for their values."""

    name: str
    idea: str
    rule: str
    source: str
    deviations: str
    parameters: tuple[Parameter, ...] = ()
    needs_sessions: bool = False
    """Whether the policy uses sessions; the gateway must then verify the cookies that name them."""
    title: str = ""
    """The policy's name as its source spells it; if this is empty, pages show `name`."""

    def read(self, given: Mapping[str, object]) -> dict[str, ParameterValue]:
        """Return the values of all parameters: those in `given`, and the defaults of the others.
        Raises PolicyError for an unknown parameter or an invalid value.
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in given:
            if name not in known:
                allowed = ", ".join(known) or "none"
                raise PolicyError(
                    f"parameters.{name}", f"{self.name} has no such parameter", allowed
                )
        return {
            name: parameter.read(given.get(name, parameter.default))
            for name, parameter in known.items()
        }

    def as_dict(self) -> dict[str, object]:
        """Return the sheet as values that JSON can express."""
        described = asdict(self)
        for parameter, row in zip(self.parameters, described["parameters"], strict=True):
            row["allowed"] = parameter.allowed
        return described


def _written(number: float) -> str:
    """Return a bound as text; a whole number keeps all its digits."""
    return f"{number:,.0f}" if number == int(number) else f"{number:,.12g}"
