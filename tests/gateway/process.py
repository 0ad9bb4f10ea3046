"""The gateway as a process."""

import os
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from common import ports
from common.http_json import JsonClient
from tests.gateway.real_sockets import PATIENCE_S
from tests.waiting import until

REPOSITORY = Path(__file__).parents[2]


def command(*options):
    return [sys.executable, "-m", "gateway", *options]


def environment(**variables):
    """Return this process's environment without the variables of a running appliance."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("DOORBUSTER_")}
    return kept | {name: str(value) for name, value in variables.items()}


def health(admin_port):
    """Return the status with which a gateway answers; None if it does not."""
    try:
        with _call(admin_port, "/health") as answer:
            return answer.status
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code
    except OSError:
        return None


def snapshot(admin_port):
    """Return the snapshot of a gateway."""
    with JsonClient("127.0.0.1", admin_port, timeout_s=PATIENCE_S) as gateway:
        return gateway.call("GET", "/snapshot")


def requests_in(admin_port):
    """Return (in service, waiting) of a gateway."""
    now = snapshot(admin_port)
    return now["in_service"], now["waiting"]


def _call(admin_port, path):
    return urllib.request.urlopen(f"http://127.0.0.1:{admin_port}{path}", timeout=PATIENCE_S)


@contextmanager
def gateway(shop_port, *options):
    """Yield (process, port, admin port) of a gateway that answers; kill it if the test
    leaves it."""
    port, admin_port, controller_port = ports.free(3)
    process = subprocess.Popen(
        command(*options),
        cwd=REPOSITORY,
        env=environment(
            DOORBUSTER_GATEWAY_PORT=port,
            DOORBUSTER_GATEWAY_ADMIN_PORT=admin_port,
            DOORBUSTER_SHOP_PORT=shop_port,
            DOORBUSTER_SHOP_CONTROLLER_PORT=controller_port,
        ),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:

        def answers():
            assert process.poll() is None, process.stderr.read()
            return health(admin_port) == 200

        until(answers)
        yield process, port, admin_port
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
