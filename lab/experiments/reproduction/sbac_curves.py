"""What SBAC's figures are drawn with: curves over load, one for each mean session length.

Owns: names of axes, curves over the loads of a scale. Must not know: any figure.
"""

from collections.abc import Callable
from dataclasses import dataclass

from lab.experiments.reproduction import sbac_values as values
from lab.experiments.reproduction.cases import Case
from lab.experiments.reproduction.exhibits import CaseCurve
from lab.experiments.reproduction.sbac_cases import MEANS, Cases
from lab.experiments.reproduction.store import Value

LOAD = "offered load, %"
THROUGHPUT = "completed sessions, % of capacity"
ABORTED = "aborted sessions, % of admitted"


def percent(load: float) -> float:
    """A load as the paper's axes have it."""
    return round(100 * load, 6)


def always(value: Value) -> Callable[[float], Value]:
    """The same figure at every load."""
    return lambda load: value


def mean_label(mean: float) -> str:
    """How a curve of one mean session length is called."""
    return f"mean {mean:g}"


@dataclass(frozen=True, slots=True)
class Curves:
    """What SBAC's figures have in common, at the scale of `cases`."""

    cases: Cases

    def _responsive(self, mean: float, load: float) -> Case:
        return self.cases.admitted("sbac-responsive", mean, load)

    def _throughput(self, mean: float) -> Value:
        return values.throughput(self.cases.scale.capacity_rps, mean)

    def _curve(
        self,
        label: str,
        case: Callable[[float], Case],
        value: Callable[[float], Value],
        from_load: float = 0.0,
    ) -> CaseCurve:
        """Over the loads; `value` may depend on the load, `always` makes one that does not."""
        loads = [load for load in self.cases.scale.loads if load >= from_load]
        return CaseCurve(label, [(percent(load), case(load), value(load)) for load in loads])

    def _by_mean(
        self, case: Callable[[float, float], Case], value: Callable[[float], Value]
    ) -> list[CaseCurve]:
        return [
            self._curve(mean_label(mean), lambda load, m=mean: case(m, load), always(value(mean)))
            for mean in MEANS
        ]
