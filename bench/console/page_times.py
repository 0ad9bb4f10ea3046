"""The times of the console's pages while the shop is overloaded and a class watches."""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import requests

from common.waiting import wait_until, wait_while
from lab.engines.live.appliance import Appliance
from lab.results.comparison import ComparisonResult
from runtime.settings import Settings

RHO = 2.0
SPEC = f"""version = 1
title = "Bench: pages at ρ = {RHO:g}"
engine = "live"
seed = 1
repetitions = 1
time_scale = 10
[[policy]]
name = "sq"
[load]
rho = [{RHO}]
sessions = 100000
"""
PATIENCE_S = 300.0
SETTLE_S = 10.0
"""The real seconds from the run's start to the first measured page; in this time, the queue fills.
"""


@dataclass(frozen=True, slots=True)
class Drowning:
    """The state of the shop during the measurement: the means of samples, of which each round takes
    one.
    """

    cpu_utilisation_ratio: float
    in_service: float
    waiting: float


class Browser:
    """A browser for the console, with one connection, cookies and the CSRF token."""

    def __init__(self, host: str, port: int) -> None:
        self.origin = f"http://{host}:{port}"
        self._session = requests.Session()

    def get(self, path: str) -> str:
        """Return the page. Raises requests.RequestException for a missing answer or an error."""
        answer = self._session.get(self.origin + path, timeout=PATIENCE_S)
        answer.raise_for_status()
        return answer.text

    def post(self, path: str, files: Mapping[str, tuple[str, str]] | None = None) -> str:
        token = self._session.cookies["lab_csrf"]
        assert token is not None
        answer = self._session.post(
            self.origin + path, files=files, headers={"X-CSRFToken": token}, timeout=PATIENCE_S
        )
        answer.raise_for_status()
        return answer.url


@contextmanager
def drowning_shop(browser: Browser, appliance: Appliance) -> Iterator[str]:
    """Let the console launch a run at load RHO, and yield the launch's id.

    The launch is cancelled at the end of the block. Raises RuntimeError if the run does not begin.
    """
    browser.get("/")
    address = browser.post("/upload/", {"spec": ("bench.toml", SPEC)})
    launch = address.rstrip("/").rsplit("/", 1)[-1]

    def state() -> str:
        return browser.get(f"/launches/{launch}/state")

    try:
        begun_or_over = re.compile(r"\[1/1\]|tag (failed|cancelled|interrupted)")
        found = wait_until(lambda: begun_or_over.search(state()), PATIENCE_S, every_s=1)
        if found is None or found[0] != "[1/1]":
            raise RuntimeError(f"the run did not begin: {browser.origin}/launches/{launch}/")
        time.sleep(SETTLE_S)
        yield launch
    finally:
        browser.post(f"/launches/{launch}/cancel")
        wait_while(lambda: "tag running" in state(), PATIENCE_S, every_s=1)
        appliance.wait_idle()


def pages_of(lab: Settings, launch: str) -> dict[str, str]:
    """Return the paths of the pages to measure, by name. Pages about results show the newest result
    with a complete run.
    """
    found = {
        "gallery": "/",
        "launch form": "/launch/lifo-pri/",
        "queue": "/launches/",
        "launch": f"/launches/{launch}/",
        "launch, state": f"/launches/{launch}/state",
        "watch": "/watch/",
        "race": "/race/",
        "results": "/results/",
    }
    for path in sorted(lab.results_dir.glob("*/plan.json"), reverse=True):
        runs = ComparisonResult(path.parent).whole_runs()
        if runs:
            name, run = path.parent.name, runs[0][0].folder
            return found | {
                "a result": f"/results/{name}/",
                "its curves": f"/results/{name}/curves.json",
                "overlay": f"/results/overlay?of={name}",
                "attempts": f"/results/{name}/attempts?run={run}",
                "its runs": f"/race/?result={name}",
                "the frames of a run": f"/race/lanes/{name}/{run}.json",
            }
    return found


def times_ms(
    browser: Browser, appliance: Appliance, pages: Mapping[str, str], rounds: int
) -> tuple[dict[str, list[float]], Drowning]:
    """Return each page's times from request to last byte, in ms, and the state of the shop."""
    for path in pages.values():
        browser.get(path)  # curves are computed only once
    found: dict[str, list[float]] = {name: [] for name in pages}
    looks = []
    for _ in range(rounds):
        for name, path in pages.items():
            began_s = time.perf_counter()
            browser.get(path)
            found[name].append(1000 * (time.perf_counter() - began_s))
        looks.append(appliance.gateway.call("GET", "/snapshot"))
    return found, Drowning(
        _mean([(look["load"] or {}).get("cpu_utilisation_ratio") or 0.0 for look in looks]),
        _mean([look["in_service"] for look in looks]),
        _mean([look["waiting"] for look in looks]),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
