"""A case of a study: a run and the choice of its metrics. Equal cases run only once."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

from lab.spec.runs import AdServerRun, PlatformRun, RunSpec, ShopRun, identity, run_of

Run = TypeVar("Run", ShopRun, PlatformRun, AdServerRun, covariant=True)
SimulatedRun = TypeVar("SimulatedRun", ShopRun, PlatformRun)
"""A run whose duration in virtual time can be shortened."""


@dataclass(frozen=True)
class Case(Generic[Run]):
    """A run without its seed, and the name of the function that selects its metrics."""

    run: Run
    measure: str
    """`package:name`; `name` is a key of the dictionary `MEASURES` in `package`."""
    own: tuple[str, ...] = ()
    """The texts of the students' policies in the run. The case contains them, because the machine
    that simulates may not have their files."""

    @classmethod
    def of_json(cls, plain: Mapping[str, Any]) -> "Case[Any]":
        """Return the case from the JSON form that `as_json` returned."""
        return Case(run_of(plain["run"]), plain["measure"], tuple(plain["own"]))

    def as_json(self) -> dict[str, Any]:
        """Return all values of the case in a form that JSON can represent."""
        return {"run": self.run.as_json(), "measure": self.measure, "own": list(self.own)}

    @cached_property
    def id(self) -> str:
        """A text that identifies the case; it is the same on every machine."""
        return identity(self.as_json())

    @property
    def kind(self) -> str:
        """The kind of the case; cases of the same kind take about the same time per request."""
        run: RunSpec = self.run
        what = run.server_kind if isinstance(run, ShopRun) else run.kind
        return f"{what}/{self.measure.partition(':')[2]}"

    def with_(self, **changes: Any) -> "Case[Run]":
        return replace(self, run=self.run.with_(**changes))

    def expected_requests(self) -> float:
        """Return the approximate number of requests, which determines a simulation's duration."""
        return self.run.expected_requests()

    def shortened(self: "Case[SimulatedRun]", factor: float) -> "Case[SimulatedRun]":
        """Return a copy with a shorter duration, to measure the simulation's speed."""
        return replace(self, run=self.run.shortened(factor))


AnyCase = Case[Any]
