"""The amount of work in the runs of a spec: sessions, requests and paper time."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lab.files.run_summary import PlannedRun
from lab.spec.experiment import Spec

if TYPE_CHECKING:
    from loadgen.workload.sessions import SessionModel

_LAST_ANSWERS_S = 60.0
"""The approximate paper seconds from the last arrival until the last customers have received their
answers or have left.
"""


class Expectation:
    """The expected work and duration of the runs of a spec, calculated once for each ρ."""

    def __init__(self, spec: Spec, capacity_rps: float | None) -> None:
        """Calculate the expectation from the spec and the capacity (None in a closed loop)."""
        self._spec = spec
        self._sessions: dict[float | None, float] = {}
        self._paper_s: dict[float | None, float] = {}
        if spec.clients:
            model = None
            thinks = (spec.load.duration_s or 0.0) / spec.clients.think_time_mean_s
            self._requests_per_session = max(1.0, thinks)
        else:
            model = spec.customers.as_model()
            self._requests_per_session = model.mean_requests()
        for rho in spec.load.rhos:
            self._sessions[rho], self._paper_s[rho] = _expected(spec, model, rho, capacity_rps)

    def sessions(self, run: PlannedRun) -> float:
        """Return the approximate number of sessions in a run; a client of a closed loop counts as
        one session."""
        return self._sessions[run.rho]

    def real_s(self, runs: Iterable[PlannedRun]) -> float:
        """Return the approximate real seconds of these live runs, until their last customers leave.

        Simultaneous runs take as long as one run.
        """
        return self._real_s(sum(self._paper_s[run.rho] for run in runs))

    @property
    def all_real_s(self) -> float:
        """Return the approximate real seconds of all runs of the spec."""
        return self._real_s(sum(self._paper_s.values()) * self._of_each_rho)

    @property
    def all_requests(self) -> float:
        """Return the approximate number of requests in all runs of the spec."""
        return sum(map(self.requests_at, self._sessions)) * self._of_each_rho

    def requests_at(self, rho: float | None) -> float:
        """Return the approximate number of requests in one run at `rho`."""
        return self._sessions[rho] * self._requests_per_session

    @property
    def _of_each_rho(self) -> int:
        return len(self._spec.policy) * self._spec.repetitions

    def _real_s(self, paper_s: float) -> float:
        spec = self._spec
        return paper_s / spec.time_scale / (len(spec.policy) if spec.at_once else 1)


def _expected(
    spec: Spec, model: "SessionModel | None", rho: float | None, capacity_rps: float | None
) -> tuple[float, float]:
    arrivals_s = spec.load.arrivals_s
    sessions = 2.0 * spec.clients.per_set if spec.clients else 0.0
    # In a closed loop, all clients stop at its end.
    if model is None or rho is None or capacity_rps is None:
        return sessions, (arrivals_s or 0.0) + _LAST_ANSWERS_S
    rate = model.session_rate(rho, capacity_rps)
    if arrivals_s is None:
        arrivals_s = (spec.load.sessions or 0) / rate
    after_s = _LAST_ANSWERS_S + model.mean_requests() * model.think_time_mean_s
    return spec.load.expected_sessions(rate), arrivals_s + after_s
