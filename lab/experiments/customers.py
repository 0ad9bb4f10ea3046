"""The load generator as a process of its own, watched by the runner.

Owns: its command line, its progress, ending it. Must not know: policies, results.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lab.experiments.appliance import Appliance
from lab.experiments.errors import ExperimentError
from lab.experiments.spec_sections import Clients, Customers, Lengths, Load
from runtime import pinned

Progress = Callable[[Mapping[str, Any]], None]

_LAST_LINES = 15


def run_customers(
    appliance: Appliance, options: Mapping[str, object], log_file: Path, on_progress: Progress
) -> None:
    """Run `python -m loadgen run` against the appliance, on the CPUs that are not the shop's.

    As `run_load`.
    """
    run_load(appliance.url, appliance.lab.other_cpus, options, log_file, on_progress)


def run_load(
    url: str,
    on: tuple[int, ...],
    options: Mapping[str, object],
    log_file: Path,
    on_progress: Progress,
) -> None:
    """Run `python -m loadgen run` against `url` to its end, on the CPUs `on`.

    `options` are its long options without dashes (None and False are left out, True is a flag).
    `on_progress` gets every progress line. Raises ExperimentError when it fails; on any exception
    here the generator is ended, so that no load is left behind.
    """
    program = [sys.executable, "-m", "loadgen", "run", "--host", url]
    program += ["--progress", "json"]
    for name, value in options.items():
        if value is not None and value is not False:
            program += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    # Should the runner be killed, no load is left behind.
    command = pinned.command(
        on,
        program,
        end_with_parent=signal.Signals.SIGTERM,
        parent=os.getpid(),
    )
    with (
        log_file.open("w", encoding="utf-8") as log,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,  # Ctrl-C reaches the runner alone, which then ends the load
        ) as process,
    ):
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if (progress := _parsed(line)) is not None:
                    on_progress(progress)
                else:
                    log.write(line)
        except BaseException:
            _end(process)
            raise
    if process.returncode != 0:
        lines = log_file.read_text(encoding="utf-8", errors="replace").splitlines()
        tail = "\n".join(f"    {line}" for line in lines[-_LAST_LINES:])
        raise ExperimentError(
            f"The load generator stopped with status {process.returncode}; {log_file} ends:\n{tail}"
        )


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


def _parsed(line: str) -> dict[str, Any] | None:
    if not line.startswith("{"):
        return None
    try:
        parsed = json.loads(line)
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _end(process: subprocess.Popen[str]) -> None:
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
