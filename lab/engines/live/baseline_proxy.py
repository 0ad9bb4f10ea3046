"""The appliance with a baseline proxy instead of the gateway, for one run.

The proxy's log and statistics replace the gateway's numbers. Customers do not reach the gateway,
which still measures the shop's load. `snapshot` has the form of the gateway's `GET /snapshot`
(docs/admin-api.md); values that a proxy does not report are None.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from common.waiting import wait_until
from gateway.policies import NO_ADMISSION, Abandonment
from gateway.policies.interface import FATES, PAGES
from lab.baselines import sheets
from lab.baselines.process import ProxyProcess, folder_for_sockets
from lab.baselines.requests import OTHER, Ended, Place
from lab.engines.live.appliance import IDLE_WITHIN_S, Appliance, Json
from lab.errors import ExperimentError
from lab.files.documents import read_json, write_json
from lab.files.run_folder import RunFolder
from runtime import settings

_LEFT = ("cancelled", "orphaned")
"""The fates of requests whose customers left during service."""


class BehindProxy(Appliance):
    """The appliance with a baseline proxy in front; the gateway only reports the shop's load."""

    def __init__(self, lab: settings.Settings, process: ProxyProcess) -> None:
        super().__init__(lab)
        self.process = process
        self._counts = {page: dict.fromkeys(FATES, 0) for page in (*PAGES, OTHER)}
        self._log = process.log()

    def again(self) -> "BehindProxy":
        """Return another object for the same appliance and proxy, with separate connections."""
        return BehindProxy(self.lab, self.process)

    @property
    def url(self) -> str:
        """The address at which customers reach the baseline proxy."""
        return self.process.url

    @property
    def name(self) -> str:
        return self.process.proxy.sheet.name

    def version(self) -> str:
        """Return the proxy's version; raises ExperimentError if it prints none."""
        return self.process.version()

    def read_log(self) -> list[Ended]:
        """Return every request that has ended since the baseline proxy started."""
        for one in self._log.read():
            self._count(one)
        return self._log.ended

    def check_lives(self) -> None:
        self.process.check_lives()

    def snapshot(self) -> Json:
        """Return the proxy's state in the form of a gateway's snapshot; raises ExperimentError if
        the proxy or the gateway does not answer."""
        queue = self.process.look()
        self.read_log()
        cancelled = self._total("cancelled")
        return super().snapshot() | {
            "policy": {
                "name": self.name,
                "parameters": dict(self.process.parameters),
                "admission": {"name": NO_ADMISSION, "parameters": {}},
                "snapshot": {},
            },
            "traced_ratio": 0.0,
            "waiting": queue.waiting,
            "in_service": queue.in_service,
            "waiting_by_page": dict.fromkeys(PAGES),
            "counts": {page: dict(fates) for page, fates in self._counts.items()},
            "abandonment": {
                "mode": self.process.place.abandonment,
                "left_waiting": self._total("withdrawn"),
                "withdrawn": self._total("withdrawn"),
                "left_in_service": sum(self._total(fate) for fate in _LEFT),
                "cancelled": cancelled,
                "finished": self._total("orphaned"),
                # The proxy does not wait for these requests, so the shop may have finished them.
                "overdue": cancelled,
            },
        }

    def wait_idle(self) -> None:
        """Wait until the proxy and the shop have no request that waits or is in service."""

        def is_idle() -> bool:
            self.check_lives()
            queue = self.process.look()
            is_busy = queue.waiting or queue.in_service or queue.connections
            return not is_busy and self._shop_rests()

        if not wait_until(is_idle, IDLE_WITHIN_S):
            raise ExperimentError(
                f"{self.name} or the shop is still busy after {IDLE_WITHIN_S:.0f} s."
            )

    def set_abandonment(self, abandonment: Abandonment) -> None:
        """Raise ExperimentError, because a running proxy cannot change its abandonment."""
        raise ExperimentError(
            f"abandonment: cannot change during a run with {self.name}, a baseline proxy. "
            f"For {abandonment!r}, start another run with this value."
        )

    def _shop_rests(self) -> bool:
        return bool(self.shop.call("GET", "/status")["busy_workers"] == 0)

    def _total(self, fate: str) -> int:
        return sum(fates[fate] for fates in self._counts.values())

    def _count(self, one: Ended) -> None:
        fates = self._counts[one.page]
        fates["arrived"] += 1
        fates[one.fate] += 1
        if one.dispatched_s is not None:
            fates["dispatched"] += 1
        if one.fate == "withdrawn":
            fates["abandoned_waiting"] += 1


@contextmanager
def proxy_in_front(
    appliance: Appliance,
    name: str,
    parameters: Mapping[str, object],
    *,
    abandonment: Abandonment,
    time_scale: float,
    capacity_rps: float | None,
    files: Path,
) -> Iterator[BehindProxy]:
    """Run the baseline proxy `name` in front of the shop until the block ends.

    The proxy's configuration and log are in the folder `files`. The proxy is ready when the block
    begins. Raises ExperimentError if the proxy does not start.
    """
    lab = appliance.lab
    with folder_for_sockets() as sockets:
        place = Place(
            files=files,
            sockets=Path(sockets),
            host=lab.host,
            port=0,
            shop_host=lab.shop_host,
            shop_port=lab.shop_port,
            time_scale=time_scale,
            abandonment=abandonment,
            capacity_rps=capacity_rps,
        )
        known = sheets.read(name, parameters)
        with ProxyProcess(name, known, place, lab.other_cpus) as process:
            behind = BehindProxy(lab, process)
            try:
                yield behind
            finally:
                behind.close()


STATUS_EVERY_S: Final = 0.4
"""The interval between two writes of `proxy.json`, in real seconds. The console reads the file
twice a second."""
STATUS_KEYS: Final = ("policy", "abandonment", "waiting", "in_service", "waiting_by_page", "counts")
"""The keys of a snapshot (docs/admin-api.md) that `proxy.json` contains."""


class ProxyStatusFile:
    """The writer of `proxy.json`, the state of a baseline proxy for the console.

    The file exists from the first `look` until `close`, while customers send requests."""

    def __init__(self, folder: RunFolder) -> None:
        self._file = folder.proxy_file
        self._due_s = 0.0

    def look(self, snapshot: Mapping[str, Any]) -> None:
        """Write a snapshot of the proxy if the last one is at least `STATUS_EVERY_S` old."""
        now_s = time.monotonic()
        if now_s >= self._due_s:
            self._due_s = now_s + STATUS_EVERY_S
            with suppress(OSError):  # if the disk is full, writing other files of the run fails
                write_json(self._file, {key: snapshot[key] for key in STATUS_KEYS})

    def close(self) -> None:
        """Remove the file when all customers have gone."""
        self._file.unlink(missing_ok=True)


def read_status(folder: RunFolder) -> dict[str, Any] | None:
    """Return the newest state of a run's baseline proxy, or None if the run has no baseline
    proxy.
    """
    try:
        found: dict[str, Any] = read_json(folder.proxy_file)
    except ExperimentError:
        return None
    return found
