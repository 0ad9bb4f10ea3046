"""Start load generators, which send the customers' requests; read their progress, and stop them."""

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
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from common import log_tail, pinned, processes
from lab.errors import ExperimentError
from lab.spec.runs import ShopRun
from loadgen.options import ENVIRONMENT_PREFIX
from loadgen.plan import ClientLoop, LoadPlan, PlanError, Sessions
from runtime.settings import Settings

Progress = Callable[[Mapping[str, Any]], None]

_END_WITHIN_S = 5.0
WORKERS_WITHIN_S = 60
"""The real seconds to wait for remote workers, which must connect again after a run."""


@dataclass(frozen=True, slots=True)
class LoadGenerator:
    """The settings with which `run_loads` starts a load generator."""

    url: str
    plan: LoadPlan
    log_file: Path
    on_progress: Progress
    """A function that receives every progress line."""
    locust_options: Mapping[str, object] = field(default_factory=dict)
    """The values of Locust's long options, without dashes; True marks an option without a value."""


def run_loads(
    loads: Sequence[LoadGenerator],
    on: tuple[int, ...],
    *,
    on_begin: Callable[[], None] = lambda: None,
    on_end: Callable[[int], None] = lambda index: None,
) -> None:
    """Run these load generators on the CPUs `on` until all have ended.

    Several load generators begin at the same time; `on_begin` is called at that moment.
    `on_end(index)` is called when a load generator has ended without an error. Raises
    ExperimentError if a load generator fails. After any exception, all load generators are stopped.
    """
    with (
        tempfile.TemporaryDirectory(prefix="doorbuster-loads-") as folder,
        ExitStack() as stack,
        selectors.DefaultSelector() as ready,
    ):
        start = Path(folder) / "start" if len(loads) > 1 else None
        logs = [stack.enter_context(load.log_file.open("wb", buffering=0)) for load in loads]
        generators: list[subprocess.Popen[bytes]] = []
        waiting = set(range(len(loads)))
        try:
            for number, (load, log) in enumerate(zip(loads, logs, strict=True)):
                plan = load.plan.with_(start_file=start, progress="json")
                plan_file = Path(folder) / f"plan-{number}.json"
                plan_file.write_text(json.dumps(plan.as_json()), encoding="utf-8")
                process = stack.enter_context(_generator(load, on, plan_file, log))
                assert process.stdout is not None
                ready.register(process.stdout, selectors.EVENT_READ, len(generators))
                generators.append(process)
            for index, line in _lines(ready):
                if line is None:
                    _check(generators[index].wait(), loads[index].log_file)
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
            for process in generators:
                # The process and its children get a moment to close their connections.
                processes.end(process, _END_WITHIN_S, with_group=True)
            raise


def _generator(
    load: LoadGenerator, on: tuple[int, ...], plan_file: Path, log: IO[bytes]
) -> subprocess.Popen[bytes]:
    program = [sys.executable, "-m", "loadgen", "run", "--host", load.url]
    program += ["--plan", str(plan_file)]
    for name, value in load.locust_options.items():
        program += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(ENVIRONMENT_PREFIX)
    }
    # The load ends if the runner is killed.
    command = pinned.command(
        on, program, end_with_parent=signal.Signals.SIGTERM, parent=os.getpid()
    )
    return subprocess.Popen(
        command,
        env=environment,  # all settings are in the plan
        stdout=subprocess.PIPE,
        stderr=log,
        start_new_session=True,  # Ctrl-C reaches only the runner, which then stops the load
    )


def _lines(ready: selectors.BaseSelector) -> Iterator[tuple[int, bytes | None]]:
    """Yield (index of the pipe, line) for each line of the pipes, in the order of arrival.

    At the end of a pipe, the line is None.
    """
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
        raise ExperimentError(
            f"The load generator ended with status {status}; {log_tail.of(log_file)}"
        )


def distributed_options(lab: Settings) -> dict[str, object]:
    """Return Locust's options for workers on other machines; empty if no such workers are used.

    The workers connect to the address `inner_host` of this machine.
    """
    if not lab.loadgen_workers:
        return {}
    return {
        "master": True,
        "master-bind-host": lab.inner_host,
        "expect-workers": lab.loadgen_workers,
        "expect-workers-max-wait": WORKERS_WITHIN_S,
    }


def load_plan(run: ShopRun) -> LoadPlan:
    """Return the customers and duration of a run; raises ExperimentError if they are invalid."""
    try:
        if run.is_closed_loop:
            return LoadPlan(load=ClientLoop(model=run.client_model, until_s=run.duration_s))
        return LoadPlan(
            load=Sessions(
                model=run.session_model,
                capacity_rps=run.capacity_rps,
                rho=None if run.schedule else run.rho,
                schedule=run.schedule,
                count=run.sessions,
                until_s=run.duration_s,
            )
        )
    except PlanError as error:
        raise ExperimentError(f"The load generator cannot carry out this run: {error}") from None


def _parsed(line: bytes) -> dict[str, Any] | None:
    if not line.startswith(b"{"):
        return None
    try:
        parsed = json.loads(line)
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None
