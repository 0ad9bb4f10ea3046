"""The samples of gateway and shop during a run, taken once per utilisation interval."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from gateway.policies.interface import PAGES
from lab.engines.live.appliance import Appliance, Json
from lab.engines.live.faults import Faults
from lab.engines.live.outages import Outages
from lab.engines.samples import SCHEMA, of_admission, write_samples
from lab.errors import ExperimentError
from simulator.record import SAMPLED_FATES


class Sampler:
    """A thread that samples the gateway's snapshot from `start` to `stop`."""

    def __init__(
        self,
        appliance: Appliance,
        *,
        time_scale: float,
        interval_s: float,
        on_look: Callable[[Json], None] = lambda snapshot: None,
    ) -> None:
        """Create the sampler; its thread calls `on_look` with every snapshot."""
        self._on_look = on_look
        self._appliance = appliance.again()
        self._time_scale = time_scale
        self._interval_real_s = interval_s / time_scale
        self.rows: list[dict[str, Any]] = []
        """The rows of samples.parquet so far."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._poll, name="sampler", daemon=True)
        self.missed = 0
        """The number of samples that are missing because the snapshot failed."""
        self.changes: list[dict[str, Any]] = []
        """The changes that users made during the run; each has `time_s`, and the new `policy` and
        `abandonment`.
        """
        self.started_anew = ""
        """The part that restarted during the run, `gateway` or `shop`, or an empty text."""
        self.fallen_back: dict[str, Any] | None = None
        """The time (`at_s`, paper seconds of the run) at which FIFO replaced a student's policy,
        and the reason; None if FIFO did not replace it.
        """
        self.traced_ratio = 0.0
        """The share of requests whose traces the gateway exports; the largest value in the run."""
        self.outages = Outages()
        self.faults = Faults()
        self.began_at = 0.0
        """The Unix time of the run's time 0."""

    def start(self) -> None:
        """Start sampling; this moment is the rows' time 0."""
        self._thread.start()

    def stop(self) -> None:
        """Stop sampling and wait for the last row; a second call has no effect."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        self._appliance.close()

    def write(self, path: Path) -> None:
        """Write samples.parquet, either completely or not at all."""
        write_samples(pa.Table.from_pylist(self.rows, schema=SCHEMA), path)

    def _poll(self) -> None:
        began_s, self.began_at = time.monotonic(), time.time()
        due_s = began_s
        before: dict[str, Any] | None = None
        age = Age()
        while not self._stop.is_set():
            try:
                snapshot = self._appliance.snapshot()
                elapsed_s = (time.monotonic() - began_s) * self._time_scale
                self.rows.append(row(elapsed_s, snapshot))
                chosen = choice_of(snapshot)
                if before is not None and chosen != before:
                    self.changes.append({"time_s": elapsed_s, **chosen})
                before = chosen
                self._on_look(snapshot)
                if why := snapshot["policy"]["snapshot"].get("fallen_back"):
                    at_s = elapsed_s - (snapshot["time_s"] - why["at_s"])
                    self.fallen_back = {"at_s": at_s, "reason": why["reason"]}
                self.traced_ratio = max(self.traced_ratio, snapshot.get("traced_ratio", 0.0))
                self.started_anew = self.started_anew or age.younger(snapshot)
                self.outages.looked(elapsed_s, snapshot)
                self.faults.looked(elapsed_s, snapshot)
            except ExperimentError:
                self.missed += 1
            due_s = max(due_s + self._interval_real_s, time.monotonic())
            self._stop.wait(due_s - time.monotonic())


class Age:
    """Values that only grow while a process lives; if one of them falls, the process was
    restarted.
    """

    def __init__(self) -> None:
        self._gateway_s = 0.0  # paper seconds since the start of the process
        # A shop's start itself takes CPU time. If the shop used less than that before a restart,
        # `cpu_s` does not fall at the restart, but `requests` falls.
        self._shop: dict[str, float] = {"cpu_s": 0.0, "requests": 0}

    def younger(self, snapshot: Json) -> str:
        """Return the part, `gateway` or `shop`, that restarted since the last call, or ""."""
        load = snapshot.get("load") or {}
        status = load.get("status") or {}
        shop = {name: status.get(name, before) for name, before in self._shop.items()}
        found = ""
        if snapshot["time_s"] < self._gateway_s:
            found = "gateway"
        elif any(shop[name] < before for name, before in self._shop.items()):
            found = "shop"
        self._gateway_s, self._shop = snapshot["time_s"], shop
        return found


def row(time_s: float, snapshot: Json) -> dict[str, Any]:
    """Return a row of samples.parquet from one snapshot."""
    counts = snapshot["counts"]
    load = snapshot.get("load") or {}
    policy = snapshot["policy"]
    return {
        "time_s": time_s,
        "policy": policy["name"],
        "discipline": policy["snapshot"].get("discipline", ""),
        "cpu_utilisation_ratio": load.get("cpu_utilisation_ratio"),
        "busy_workers": load.get("busy_workers"),
        "in_service": snapshot["in_service"],
        "waiting": snapshot["waiting"],
        **{f"waiting_{page}": snapshot["waiting_by_page"][page] for page in PAGES},
        **{f"{fate}_total": sum(counts[page][fate] for page in PAGES) for fate in SAMPLED_FATES},
        "confirms_total": counts["Tr-4"]["answered"],
        **of_admission(policy["snapshot"].get("admission")),
    }


def choice_of(snapshot: Json) -> dict[str, Any]:
    """Return those settings in a snapshot that can change during a run."""
    policy = {name: snapshot["policy"][name] for name in ("name", "parameters", "admission")}
    return {"policy": policy, "abandonment": snapshot["abandonment"]["mode"]}
