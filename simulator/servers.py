"""The calls that the simulation makes to any model of a server."""

from typing import Protocol


class Server(Protocol):
    """A server at work. It keeps its own next event, so that the simulation asks one number.

    Ids are above 0. Times never go backwards.
    """

    cpus: int
    free: int
    """Workers that could start a request now."""
    next_s: float
    """When `advance` must be called next; inf for never."""
    spent_s: float
    """Server time of the request that `advance` gave back last."""
    rejection_busy_s: float
    """Server time of the rejections so far."""

    def start(self, now_s: float, id: int, page: int, work: float) -> None:
        """Begin a request; `page` is its place in SERVED_PAGES, `work` the place in [0, 1) of its
        service time among all that the page may have. A file takes no worker."""
        ...

    def advance(self, now_s: float) -> int:
        """Let what is due at `next_s` happen; the id of the request that ended, or 0."""
        ...

    def spent_until(self, now_s: float, id: int) -> float:
        """Server time used so far by a request in service, CPU seconds."""
        ...

    def cancel(self, now_s: float, id: int) -> None:
        """Stop a request in service; `advance`, due at once, gives it back."""
        ...

    def reject(self, now_s: float) -> None:
        """The server has to tell somebody that he may not come in."""
        ...

    def busy_until(self, now_s: float) -> float:
        """Server time used so far, CPU seconds."""
        ...
