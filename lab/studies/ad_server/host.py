"""The ad server that a reproduction measures, and the process of its clients."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from common import cpus, hosts, log_tail, pinned, processes
from common.http_json import JsonClient, NoAnswerError, RefusedError
from lab.errors import ExperimentError
from lab.machine.description import ROOT
from lab.studies.ad_server.cases import SERVER_THREADS
from loadgen.customers.ad_clients import AdOrder
from runtime.native import own_ad_server
from runtime.settings import Settings

LEVELS = {level: level + 1 for level in range(8)}
"""The number of threads for each priority level. One server with these levels can serve all
cells."""

MOST_WORDS = 12
_PAGES = 5
_TIMEOUT_S = 60.0
_END_S = 30.0


@dataclass(frozen=True, slots=True)
class AdServer:
    """A running ad server."""

    url: str
    words: tuple[str, ...]
    """The concepts that requests name; see `_commonest_words`."""


@contextmanager
def running_ad_server(lab: Settings, banners: int) -> Iterator[AdServer]:
    """Run an ad server with a separate database until the block ends; raises ExperimentError if it
    cannot start or does not list its contracts."""
    try:
        with (
            own_ad_server.seeded_database(banners, lab.postgres_bin) as environment,
            own_ad_server.ad_server(environment, LEVELS, SERVER_THREADS) as port,
        ):
            token = own_ad_server.call(environment, "token")
            yield AdServer(f"http://127.0.0.1:{port}", _commonest_words(port, token))
    except own_ad_server.NotStarted as fault:
        raise ExperimentError(
            f"The ad server of the reproduction did not start: {fault}; to check the machine: "
            "make doctor"
        ) from None


def _commonest_words(port: int, token: str) -> tuple[str, ...]:
    """Return the MOST_WORDS most frequent concepts of the first few hundred contracts."""
    counts: Counter[str] = Counter()
    path: str | None = "/ads/contracts"
    try:
        with JsonClient(hosts.LOOPBACK, port, timeout_s=_TIMEOUT_S, token=token) as server:
            for _ in range(_PAGES):
                if path is None:
                    break
                page = server.call("GET", path)
                for contract in page["contracts"]:
                    counts.update(contract["banner"]["concepts"])
                path = page["next"]
    except (NoAnswerError, RefusedError, KeyError) as fault:
        raise ExperimentError(f"The ad server does not list its contracts: {fault!r}") from None
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(word for word, _ in ranked[:MOST_WORDS])


class AdClients:
    """The process that runs the clients."""

    def __init__(self, process: "subprocess.Popen[str]", log: Path) -> None:
        self._process = process
        self._log = log

    def play(self, order: AdOrder) -> dict[str, Any]:
        """Let the clients' process carry out a run; return the answer of
        `loadgen.customers.ad_clients.play`. Raises ExperimentError if the process ends or a request
        gets no answer. The run's attempts are then not kept."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(asdict(order)) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise ExperimentError(
                f"The clients' process ended: {log_tail.last_line(log_tail.read(self._log))}"
            )
        went: dict[str, Any] = json.loads(answer)
        if went["failed"]:
            Path(order.attempts_file).unlink(missing_ok=True)
            raise ExperimentError(
                f"{went['failed']} of {went['failed'] + went['answered']} requests to the ad "
                f"server were not answered ({went['reason']}). Run the same command again to "
                "continue."
            )
        return went


@contextmanager
def clients_process(url: str, log: Path) -> Iterator[AdClients]:
    """Run the clients' process until the block ends, on all CPUs of this process, with its error
    output in `log`."""
    command = pinned.command(
        tuple(sorted(cpus.here())),
        [sys.executable, "-m", "loadgen.customers.ad_clients", url],
        end_with_parent=signal.SIGTERM,
        parent=os.getpid(),
    )
    with (
        log.open("w", encoding="utf-8") as output,
        subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
            text=True,
            start_new_session=True,  # Ctrl-C reaches only the runner, which then stops the load
        ) as process,
    ):
        try:
            yield AdClients(process, log)
        finally:
            processes.end(process, _END_S)
