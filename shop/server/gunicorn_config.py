"""Gunicorn's configuration: one process with many threads, and connections that stay open.

The controller runs in threads of the worker process.
"""

import signal
import sys

from gunicorn.arbiter import Arbiter
from gunicorn.workers.base import Worker

from common import hosts
from shop import settings
from shop.server import serving

__all__ = [  # what the ad server's configuration has in common
    "SWITCH_INTERVAL_S", "backlog", "control_socket_disable", "forwarded_allow_ips",
    "graceful_timeout", "keepalive", "limit_request_field_size", "limit_request_fields",
    "limit_request_line", "loglevel", "timeout", "worker_class", "worker_connections",
]  # fmt: skip

bind = hosts.authority(settings.INNER_HOST, settings.SHOP_PORT)
wsgi_app = "shop.server.wsgi:application"
proc_name = "doorbuster-shop"
worker_class = "gthread"
workers = 1  # one interpreter on one CPU, as in the papers; see docs/decisions/
threads = settings.SHOP_WORKERS
worker_connections = 1000
backlog = 512
keepalive = 75
# The main thread sends heartbeats, so that Gunicorn does not kill a saturated shop; the ad server
# takes long to load a large inventory.
timeout = 120
graceful_timeout = 10
loglevel = "warning"
forwarded_allow_ips = settings.FORWARDED_ALLOW_IPS
control_socket_disable = True

# Gunicorn accepts everything that the gateway lets through, because the gateway's refusals name the
# exceeded limit, while Gunicorn answers 400 without a reason. The gateway adds up to six fields;
# 8190 is Gunicorn's maximum.
limit_request_line = 8190
limit_request_fields = 128
limit_request_field_size = 32 * 1024

# The time for which a thread keeps the interpreter while other threads wait for it: the quantum of
# processor sharing. A search of the ad server needs the interpreter again after every operation, so
# Python's default of 5 ms would make searches slow.
SWITCH_INTERVAL_S = 0.0005


def post_fork(arbiter: Arbiter, worker: Worker) -> None:
    """Make the starting worker process end if Gunicorn's master process is killed."""
    serving.end_with_master(worker, signal.SIGKILL)


def post_worker_init(worker: Worker) -> None:
    """Start the controller in the worker process, before the process serves."""
    from shop.control import controller

    sys.setswitchinterval(SWITCH_INTERVAL_S)
    try:
        controller.start(settings.SHOP_CONTROLLER_PORT, settings.INNER_HOST)
    except controller.PortTaken as taken:
        worker.log.error("%s", taken.strerror)
        sys.exit(Arbiter.WORKER_BOOT_ERROR)
