"""A server that serves one request at a time, such as SBAC's server or an M/M/1 queue's."""

import math
from bisect import bisect_right
from itertools import accumulate

from simulator.scenario import FifoServer

SIZES_PER_CLASS = 9


class SingleServer:
    """The simulation of a `FifoServer`; the interface is `servers.Server`.

    A rejection is served after the request in service, but before all requests in the queue.
    """

    cpus = 1

    def __init__(self, described: FifoServer) -> None:
        self.free = 1
        self.next_s = math.inf
        self.now_s = 0.0
        self.slices = 0
        self.spent_s = 0.0
        self.rejection_busy_s = 0.0
        self._mean_s = 1 / described.capacity_rps
        self._is_exponential = described.service_times == "exponential"
        self._uppers, self._services_s = file_service_times(described)
        is_free = described.rejection == "free"
        self._rejection_s = 0.0 if is_free else described.rejection_cost * self._mean_s
        self._id = 0
        self._began_s = 0.0
        self._backlog_s = 0.0  # rejections that wait for the request in service to end
        self._busy_s = 0.0

    def start(self, now_s: float, id: int, page: int, work: float) -> None:
        if self._is_exponential:
            service_s = -math.log1p(-work) * self._mean_s  # `exponential`, without a call
        else:
            service_s = self._services_s[bisect_right(self._uppers, work)]
        self._id = id
        self._began_s = now_s
        self.free = 0
        self.next_s = now_s + service_s

    def advance(self, until_s: float) -> int:
        id = self._id
        self.now_s = now_s = self.next_s
        self.spent_s = spent_s = now_s - self._began_s
        self._busy_s += spent_s
        if id:
            self._id = 0
            if self._backlog_s:
                self._began_s = now_s
                self.next_s = now_s + self._backlog_s
                self._backlog_s = 0.0
                return id
        else:
            self.rejection_busy_s += spent_s
        self.next_s = math.inf
        self.free = 1
        return id

    def spent_until(self, now_s: float, id: int) -> float:
        return now_s - self._began_s

    def cancel(self, now_s: float, id: int) -> None:
        self.next_s = now_s

    def reject(self, now_s: float) -> None:
        if self._rejection_s == 0:
            return
        if self._id:
            self._backlog_s += self._rejection_s
        elif self.free:
            self.free = 0
            self._began_s = now_s
            self.next_s = now_s + self._rejection_s
        else:
            self.next_s += self._rejection_s

    def busy_until(self, now_s: float) -> float:
        return self._busy_s if self.free else self._busy_s + now_s - self._began_s


def file_service_times(described: FifoServer) -> tuple[list[float], list[float]]:
    """Divide [0, 1) into a part for each file. Return the upper ends of the parts, except the last
    end, and the files' service times.

    All files of a class are equally likely; a file of mean size takes 1 / `capacity_rps`.
    """
    shares, sizes = [], []
    for share, smallest, largest in described.file_classes:
        step = (largest - smallest) / (SIZES_PER_CLASS - 1)
        for i in range(SIZES_PER_CLASS):
            shares.append(share / SIZES_PER_CLASS)
            sizes.append(smallest + i * step)
    mean = math.fsum(share * size for share, size in zip(shares, sizes, strict=True))
    services_s = [size / mean / described.capacity_rps for size in sizes]
    return list(accumulate(shares))[:-1], services_s
