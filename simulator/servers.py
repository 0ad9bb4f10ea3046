"""The interface between the simulation and the models of a server."""

from typing import Protocol


class Server(Protocol):
    """A model of a server. Request ids are above 0, and times never go backwards."""

    cpus: int
    free: int
    """The number of free workers."""
    next_s: float
    """The time of the next call of `advance`; inf means never."""
    now_s: float
    """The time up to which `advance` has carried out the server's work."""
    slices: int
    """The number of busy slices and waits that have ended before the end of their request."""
    spent_s: float
    """The server time used by the request that `advance` returned last."""
    rejection_busy_s: float
    """The server time spent on all rejections so far."""

    def start(self, now_s: float, id: int, page: int, work: float) -> None:
        """Begin a request. `page` is the index of the page in SERVED_PAGES. `work`, in [0, 1), is
        the quantile of the service time in the page's distribution. A file needs no worker.
        """

    def advance(self, until_s: float) -> int:
        """Carry out the work that is due until `until_s`; return the id of an ended request, or 0.

        The method stops when a request has ended or a worker has become free; `now_s` is then the
        time of that event.
        """

    def spent_until(self, now_s: float, id: int) -> float:
        """Return the server time that a request in service has used so far, in CPU seconds."""

    def cancel(self, now_s: float, id: int) -> None:
        """Stop a request in service; one of the next calls of `advance` returns its id."""

    def reject(self, now_s: float) -> None:
        """Spend the server time of a rejection."""

    def busy_until(self, now_s: float) -> float:
        """Return the server time used so far, in CPU seconds."""
