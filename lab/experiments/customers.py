"""Load generators as processes of their own, watched by the runner.

Owns: their command lines, their progress, ending them. Must not know: policies, results.
"""

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from lab.experiments.errors import ExperimentError
from lab.experiments.spec_sections import Clients, Customers, Lengths, Load
from runtime import pinned
from runtime.settings import Settings

Progress = Callable[[Mapping[str, Any]], None]

_LAST_LINES = 15

WORKERS_WITHIN_S = 60
"""Those of the run before need some seconds to be back."""


def run_load(
    url: str,
    on: tuple[int, ...],
    options: Mapping[str, object],
    log_file: Path,
    on_progress: Progress,
) -> None:
    """Run `python -m loadgen run` against `url` to its end, on the CPUs `on`.

    As `run_loads`, of one.
    """
    run_loads([LoadGenerator(url, options, log_file, on_progress)], on)


@dataclass(frozen=True, slots=True)
class LoadGenerator:
    """One to be run.

    `options` are its long options without dashes (None and False are left out, True is a flag).
    """

    url: str
    options: Mapping[str, object]
    log_file: Path
    on_progress: Progress
    """Gets every progress line."""


def run_loads(
    loads: Sequence[LoadGenerator],
    on: tuple[int, ...],
    *,
    on_begin: Callable[[], None] = lambda: None,
    on_end: Callable[[int], None] = lambda index: None,
) -> None:
    """Run these load generators to their ends, on the CPUs `on`; several begin at once.

    `on_begin` is called when several do, `on_end(index)` as each has ended well. Raises
    ExperimentError when one fails; on any exception here all of them are ended, so that no load is
    left behind.
    """
    with (
        tempfile.TemporaryDirectory(prefix="doorbuster-loads-") as folder,
        ExitStack() as stack,
        selectors.DefaultSelector() as ready,
    ):
        start = Path(folder) / "start" if len(loads) > 1 else None
        logs = [stack.enter_context(load.log_file.open("wb", buffering=0)) for load in loads]
        processes: list[subprocess.Popen[bytes]] = []
        waiting = set(range(len(loads)))
        try:
            for load, log in zip(loads, logs, strict=True):
                process = stack.enter_context(_generator(load, on, start, log))
                assert process.stdout is not None
                ready.register(process.stdout, selectors.EVENT_READ, len(processes))
                processes.append(process)
            for index, line in _lines(ready):
                if line is None:
                    _check(processes[index].wait(), loads[index].log_file)
                    on_end(index)
                elif (said := _parsed(line)) is None:
                    logs[index].write(line)
                elif said.get("event") == "ready":
                    waiting.discard(index)
                    if start is not None and not waiting:
                        on_begin()
                        start.touch()
                else:
                    loads[index].on_progress(said)
        except BaseException:
            for process in processes:
                if process.returncode is None:
                    _end(process)
            raise


def _generator(
    load: LoadGenerator, on: tuple[int, ...], start: Path | None, log: IO[bytes]
) -> subprocess.Popen[bytes]:
    program = [sys.executable, "-m", "loadgen", "run", "--host", load.url]
    program += ["--progress", "json"]
    for name, value in {**load.options, "start-file": start}.items():
        if value is not None and value is not False:
            program += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    # Should the runner be killed, no load is left behind.
    command = pinned.command(
        on,
        program,
        end_with_parent=signal.Signals.SIGTERM,
        parent=os.getpid(),
    )
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=log,
        start_new_session=True,  # Ctrl-C reaches the runner alone, which then ends the load
    )


def _lines(ready: selectors.BaseSelector) -> Iterator[tuple[int, bytes | None]]:
    """(index, line) as they come from any of the pipes; the line is None at a pipe's end."""
    begun: dict[int, bytes] = defaultdict(bytes)
    while ready.get_map():
        for key, _ in ready.select():
            chunk = os.read(key.fd, 1 << 16)
            *whole, begun[key.data] = (begun[key.data] + chunk).split(b"\n")
            yield from ((key.data, line + b"\n") for line in whole)
            if not chunk:
                ready.unregister(key.fileobj)
                if begun[key.data]:
                    yield key.data, begun[key.data]
                yield key.data, None


def _check(status: int, log_file: Path) -> None:
    if status != 0:
        lines = log_file.read_text(encoding="utf-8", errors="replace").splitlines()
        tail = "\n".join(f"    {line}" for line in lines[-_LAST_LINES:])
        raise ExperimentError(
            f"The load generator stopped with status {status}; {log_file} ends:\n{tail}"
        )


def distributed_options(lab: Settings) -> dict[str, object]:
    """Of a load generator whose customers come from workers on other machines; none if from here.

    The workers call this machine's inner host.
    """
    if not lab.loadgen_workers:
        return {}
    return {
        "master": True,
        "master-bind-host": lab.inner_host,
        "expect-workers": lab.loadgen_workers,
        "expect-workers-max-wait": WORKERS_WITHIN_S,
    }


def model_options(customers: Customers) -> dict[str, object]:
    """The session model as the load generator's options."""
    return {
        "timeout-s": customers.timeout_s,
        "think-timeout-mean-s": customers.think_timeout_mean_s,
        "retry-probability": customers.retry_probability,
        "max-retries": customers.max_retries,
        "think-time-mean-s": customers.think_time_mean_s,
        **length_options(customers.lengths),
    }


def length_options(lengths: Lengths | None) -> dict[str, object]:
    """Session lengths as the load generator's options; none where the chain decides."""
    if lengths is None:
        return {}
    mixture = ",".join(f"{each.name}:{each.share}:{each.mean}" for each in lengths.mixture or ())
    return {
        "session-length-kind": lengths.kind,
        "session-length-mean": lengths.mean,
        "session-mixture": mixture or None,
    }


def client_options(clients: Clients) -> dict[str, object]:
    """The clients of a closed loop as the load generator's options."""
    return {
        "clients-per-set": clients.per_set,
        "patience-max-s": clients.patience_max_s,
        "client-think-time-mean-s": clients.think_time_mean_s,
        "reload-probability": clients.reload_probability,
        "away-mean-s": clients.away_mean_s,
        "client-mix": ",".join(f"{kind}:{weight}" for kind, weight in clients.mix.items()),
    }


def load_options(load: Load, rho: float | None) -> dict[str, object]:
    """How much is offered, and how long, as the load generator's options."""
    if load.schedule:
        stretches = ",".join(f"{each.duration_s}:{each.rho}" for each in load.schedule)
        return {"load-schedule": stretches}
    return {"rho": rho, "sessions": load.sessions, "arrivals-until-s": load.duration_s}


def _parsed(line: bytes) -> dict[str, Any] | None:
    if not line.startswith(b"{"):
        return None
    try:
        parsed = json.loads(line)
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the generator and what it started; it gets a moment to close its connections."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
        except ProcessLookupError:
            return
        try:
            process.wait(timeout=5)
            return
        except subprocess.TimeoutExpired:
            continue
