"""A client of the Connection Sentry's model (section 4.2), which sends request after request."""

from functools import partial

from loadgen.customers.browser import ShopAddress
from loadgen.customers.client_pages import ClientPages, judge
from loadgen.customers.visitor import AttemptObserver, PlannedAttempt, Visitor, ended_s
from loadgen.records.attempts import AttemptOutcome
from loadgen.schedule import RunClock
from loadgen.workload.clients import Clients


class ClientProcess:
    """The client with a given number; `run` plays it in the calling greenlet.

    The client keeps its cookies. Its connection ends when the client leaves or the server closes
    the connection.
    """

    def __init__(
        self,
        client: int,
        clients: Clients,
        pages: ClientPages,
        address: ShopAddress,
        clock: RunClock,
        observer: AttemptObserver,
    ) -> None:
        self._client = client
        self._clients = clients
        self._pages = pages
        self._visitor = Visitor(client, address, clock, observer)
        self._clock = clock

    def run(self, until_s: float) -> None:
        """Send requests until `until_s` paper seconds after the run's start.

        A request in progress at that time continues until it is answered or the patience ends. The
        client does not reload it.
        """
        turn = self._clients.first(self._client)
        due_s = turn.pause_s
        try:
            while self._begins(due_s, until_s):
                page = self._clients.page(self._client, turn.step)
                patience_s = self._clients.patience_s(self._client, turn.step, turn.attempt)
                attempt = self._visitor.ask(
                    PlannedAttempt(turn.step, page, turn.attempt, due_s, patience_s),
                    self._pages.request(page, self._client, turn.step),
                    partial(judge, page),
                )
                left = attempt.outcome == AttemptOutcome.TIMED_OUT
                turn = self._clients.after(self._client, turn.step, turn.attempt, left)
                due_s = ended_s(attempt) + turn.pause_s
        finally:
            self._visitor.leave()

    def _begins(self, due_s: float, until_s: float) -> bool:
        self._clock.sleep_until(min(due_s, until_s))
        return due_s < until_s and self._clock.now_s() < until_s
