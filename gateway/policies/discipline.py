"""The disciplines FIFO and LIFO, and the switch between them (LIFO-Pri's SET_DISCIPLINE)."""

from enum import StrEnum

from gateway.policies import PolicyError
from gateway.policies.sheet import Parameter


class Discipline(StrEnum):
    """The order in which a queue is served."""

    FIFO = "FIFO"
    LIFO = "LIFO"


CPU_UPPER_THRESHOLD = Parameter(
    "cpu_upper_threshold",
    0.99,
    "ratio",
    "CPU utilisation above which the discipline becomes LIFO",
    "LIFO-Pri, section 3.2.1",
    0.0,
    1.0,
)
CPU_LOWER_THRESHOLD = Parameter(
    "cpu_lower_threshold",
    0.95,
    "ratio",
    "CPU utilisation below which the discipline becomes FIFO again",
    "LIFO-Pri, section 3.2.1",
    0.0,
    1.0,
)


class OverloadSwitch:
    """A switch that chooses FIFO under normal load and LIFO under overload (LIFO-Pri, Algorithm 1,
    SET_DISCIPLINE). While the utilisation is between the two thresholds, the discipline does not
    change.
    """

    def __init__(self, *, cpu_upper_threshold: float, cpu_lower_threshold: float) -> None:
        if cpu_lower_threshold > cpu_upper_threshold:
            raise PolicyError(
                "parameters.cpu_lower_threshold",
                f"{cpu_lower_threshold:g} is above cpu_upper_threshold {cpu_upper_threshold:g}",
                f"at most {cpu_upper_threshold:g}",
            )
        self.cpu_upper_threshold = cpu_upper_threshold
        self.cpu_lower_threshold = cpu_lower_threshold
        self.discipline = Discipline.FIFO
        self.switches = 0

    def sample(self, cpu_utilisation_ratio: float) -> None:
        """Update the discipline after a utilisation interval with this CPU utilisation (0 to 1)."""
        if self.discipline is Discipline.FIFO and cpu_utilisation_ratio > self.cpu_upper_threshold:
            self._become(Discipline.LIFO)
        elif (
            self.discipline is Discipline.LIFO and cpu_utilisation_ratio < self.cpu_lower_threshold
        ):
            self._become(Discipline.FIFO)

    def _become(self, discipline: Discipline) -> None:
        self.discipline = discipline
        self.switches += 1
