"""Gunicorn's configuration for the ad server: several processes with several threads each.

A worker process loads the inventory before it accepts requests.
"""

import contextlib
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from gunicorn.arbiter import Arbiter
from gunicorn.workers.base import Worker

from common import hosts
from shop import settings
from shop.ads import configuration
from shop.server import serving
from shop.server.gunicorn_config import *  # noqa: F403
from shop.server.gunicorn_config import SWITCH_INTERVAL_S

_configuration = configuration.read()

bind = hosts.authority(settings.INNER_HOST, _configuration.port)
wsgi_app = "shop.ads.wsgi:application"
proc_name = "doorbuster-ads"
workers = _configuration.processes
threads = _configuration.threads

_COUNTS_OF = "doorbuster-counts-"


def _counts_folder() -> str:
    """Create a folder for this process's counts; remove the folders of killed processes."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_COUNTS_OF}*"):
        process = folder.name.removeprefix(_COUNTS_OF).partition("-")[0]
        if process.isdigit() and not Path("/proc", process).exists() and _is_ours(folder):
            shutil.rmtree(folder, ignore_errors=True)
    return tempfile.mkdtemp(prefix=f"{_COUNTS_OF}{os.getpid()}-")


def _is_ours(folder: Path) -> bool:
    with contextlib.suppress(OSError):
        return folder.lstat().st_uid == os.geteuid()
    return False


# The worker processes inherit this folder and share it (shop/ads/delivery/metrics.py).
_COUNTS = os.environ["PROMETHEUS_MULTIPROC_DIR"] = _counts_folder()


MASTER_DIED = signal.SIGUSR2
"""The signal that ends a worker process when its master dies. After `post_worker_init`, the worker
reports its deliveries before it ends.
"""
LAST_REPORT_WITHIN_S = 5
"""The real seconds that a worker has for its last report after its master was killed."""


def post_fork(arbiter: Arbiter, worker: Worker) -> None:
    """Make the starting worker process end if Gunicorn's master process is killed."""
    serving.end_with_master(worker, MASTER_DIED)


def post_worker_init(worker: Worker) -> None:
    """Start the ad server in the worker process, before the process serves."""
    from django.db import DatabaseError

    from shop.ads import server

    sys.setswitchinterval(SWITCH_INTERVAL_S)
    try:
        server.start()
    except DatabaseError as fault:  # PostgreSQL has become unavailable since `serve` found it
        first = str(fault).strip().partition("\n")[0]
        worker.log.error("The inventory could not be loaded: %s", first)
        sys.exit(Arbiter.WORKER_BOOT_ERROR)
    except Exception:
        worker.log.exception("The inventory could not be loaded")
        sys.exit(Arbiter.WORKER_BOOT_ERROR)
    signal.signal(MASTER_DIED, lambda *_: _end_without_master(worker))


def _end_without_master(worker: Worker) -> None:
    """Free the port for the next master, report the deliveries, and end."""
    from shop.ads import server

    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process
    signal.alarm(LAST_REPORT_WITHIN_S)
    for listener in worker.sockets:
        listener.close()
    with contextlib.suppress(server.NotStarted):
        server.running().stop()
    os._exit(Arbiter.WORKER_BOOT_ERROR)


def worker_exit(arbiter: Arbiter, worker: Worker) -> None:
    """Stop the ad server in the worker process, after its last answer."""
    from shop.ads import server

    with contextlib.suppress(server.NotStarted):  # the ad server may not have started yet
        server.running().stop()


def child_exit(arbiter: Arbiter, worker: Worker) -> None:
    """Remove an ended worker's gauges, but keep its counters. The master process calls this."""
    from prometheus_client import multiprocess

    multiprocess.mark_process_dead(worker.pid)


def on_exit(arbiter: Arbiter) -> None:
    """Remove the folder with the counts when the master process ends."""
    shutil.rmtree(_COUNTS, ignore_errors=True)
