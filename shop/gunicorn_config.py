"""Gunicorn's configuration: one process, DOORBUSTER_SHOP_WORKERS threads, kept-alive connections.

Owns: how the shop is served. The controller starts in the worker process, beside its threads.
"""

import signal
import sys

from gunicorn.arbiter import Arbiter
from gunicorn.workers.base import Worker

from common import hosts
from shop import serving, settings

bind = hosts.authority(settings.INNER_HOST, settings.SHOP_PORT)
wsgi_app = "shop.wsgi:application"
proc_name = "doorbuster-shop"
worker_class = "gthread"
workers = 1  # one interpreter on one CPU is the papers' server; see docs/decisions/
threads = settings.SHOP_WORKERS
worker_connections = 1000
backlog = 512
keepalive = 75
timeout = 120  # the main thread gives a sign of life; a saturated shop is slow, not dead
graceful_timeout = 10
loglevel = "warning"
forwarded_allow_ips = settings.FORWARDED_ALLOW_IPS
control_socket_disable = True

# What the gateway lets through is read: it has such limits of its own and says what exceeds them,
# Gunicorn has a bare 400. The gateway adds five fields; 8190 is the most that Gunicorn takes.
limit_request_line = 8190
limit_request_fields = 128
limit_request_field_size = 32 * 1024

# How long a thread keeps the interpreter while others want it: the quantum of processor sharing.
SWITCH_INTERVAL_S = 0.0005


def post_fork(arbiter: Arbiter, worker: Worker) -> None:
    """Called in the worker process when it begins: it dies with a master that is killed."""
    serving.end_with_master(worker, signal.SIGKILL)


def post_worker_init(worker: Worker) -> None:
    """Called in the worker process before it serves."""
    from shop import controller

    sys.setswitchinterval(SWITCH_INTERVAL_S)
    try:
        controller.start(settings.SHOP_CONTROLLER_PORT, settings.INNER_HOST)
    except controller.PortTaken as taken:
        worker.log.error("%s", taken.strerror)
        sys.exit(Arbiter.WORKER_BOOT_ERROR)
