"""An application: a small parent process whose children are the gateway and the shop processes."""

import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from common import cpus, log_tail
from hosting import starting

MOST_WORKERS = 1000
VARIABLES = ("DOORBUSTER_SHOP_CPUS", "DOORBUSTER_SHOP_WORKERS")
"""The environment variables that `run` reads."""
_SIGNALS = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT)


def run(shops: Sequence[tuple[int, int]], logs: Path, environ: Mapping[str, str]) -> str | None:
    """Run until a signal arrives or a child ends. Return None after a signal; otherwise, return why
    the child ended.

    `shops` contains the port and the controller's port of each shop process. All other settings are
    in `environ` (hosting/template.py). Each process logs to `logs`/<name>.log.
    """
    logs.mkdir(parents=True, exist_ok=True)
    on = cpus.parse(environ["DOORBUSTER_SHOP_CPUS"])
    # All shop processes together, at most the gateway's maximum.
    workers = min(int(environ["DOORBUSTER_SHOP_WORKERS"]) * len(shops), MOST_WORKERS)
    programs = {
        f"shop-{number}": (["shop", "serve"], {"SHOP_PORT": port, "SHOP_CONTROLLER_PORT": beside})
        for number, (port, beside) in enumerate(shops, start=1)
    }
    programs["gateway"] = (["gateway", "--workers", str(workers)], {})
    children: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for name, (program, own) in programs.items():
            added = {f"DOORBUSTER_{variable}": str(value) for variable, value in own.items()}
            children[name] = starting.start(
                program,
                on=on,
                environment={**environ, **added},
                log=logs / f"{name}.log",
                own_session=False,
            )
        # Blocked only now, because children would inherit this. The loop also finds earlier ends.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        while True:
            for name, child in children.items():
                if (status := child.poll()) is not None:
                    return f"{name} ended ({_how(status)}); {log_tail.of(logs / f'{name}.log')}"
            if signal.sigwait(_SIGNALS) != signal.SIGCHLD:
                return None
    finally:
        started = list(children.values())
        starting.end(gateways=started[-1:], shops=started[:-1])


def _how(status: int) -> str:
    return f"exit status {status}" if status >= 0 else signal.Signals(-status).name
