"""The common part of sbac-hybrid and sbac-predictive: a census of the admitted sessions."""

from gateway.policies.interface import Outcome, Reject, Request
from gateway.policies.sbac import AcInterval, UtilisationAdmission
from gateway.policies.session_census import SessionCensus


class CountingAdmission(UtilisationAdmission):
    """A policy that admits sessions by predicted utilisation, and keeps a census of the admitted
    sessions.
    """

    def __init__(
        self,
        name: str,
        *,
        ac_weight: float,
        ac_threshold: float,
        ac_interval_s: float,
        retry_after_s: float,
    ) -> None:
        super().__init__(
            name,
            ac_weight=ac_weight,
            ac_threshold=ac_threshold,
            ac_interval_s=ac_interval_s,
            retry_after_s=retry_after_s,
        )
        self.census = SessionCensus()

    def arrival(self, time_s: float, request: Request) -> Reject | None:
        rejection = super().arrival(time_s, request)
        if rejection is None:
            self.census.request(time_s, request.id, request.session)
        return rejection

    def dropped(self, time_s: float, id: int) -> None:
        super().dropped(time_s, id)
        self.census.request_dropped(id)

    def completion(self, time_s: float, id: int, outcome: Outcome) -> None:
        super().completion(time_s, id, outcome)
        self.census.request_ended(id, outcome)

    def abandonment(self, time_s: float, id: int) -> None:
        super().abandonment(time_s, id)
        self.census.request_aborted(id)

    def withdrawn(self, time_s: float, id: int) -> None:
        super().withdrawn(time_s, id)
        self.census.request_dropped(id)

    def _interval_over(self, time_s: float, over: AcInterval) -> None:
        self.census.count_ended(time_s)
        super()._interval_over(time_s, over)
