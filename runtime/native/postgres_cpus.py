"""The move of the appliance's PostgreSQL to the shop's CPUs, and back.

On the shop's CPUs, PostgreSQL becomes a bottleneck, as in the Connection Sentry paper. A restart
moves PostgreSQL back.
"""

import logging
from contextlib import suppress
from pathlib import Path
from typing import Literal

import psutil

from common import cpus, hosts
from runtime.settings import Settings
from runtime.state import State

Where = Literal["shop", "other"]

_logger = logging.getLogger(__name__)


def move(settings: Settings, where: Where) -> bool:
    """Move PostgreSQL to the shop's CPUs, or to the CPUs of all other processes; return whether it
    runs there now.

    PostgreSQL is not moved if it does not run, if it belongs to another appliance or user, or if
    the shop shares its CPUs with all other processes. The function logs the reason.
    """
    if not hosts.is_loopback(settings.postgres_host):
        # For "other", this is no fault, because this PostgreSQL was never moved.
        level = logging.WARNING if where == "shop" else logging.INFO
        _logger.log(
            level,
            "PostgreSQL on %s does not belong to this appliance and is not moved",
            settings.postgres_host,
        )
        return False
    postmaster = _postmaster(State(settings.state_dir).postgres / "data")
    if postmaster is None:
        _logger.warning("the PostgreSQL of %s does not run and is not moved", settings.state_dir)
        return False
    if settings.shop_cpus == settings.other_cpus:
        _logger.info(
            "the database is not moved, because the shop and all other processes share CPU %s",
            cpus.written(settings.shop_cpus),
        )
        return True
    on = list(settings.shop_cpus if where == "shop" else settings.other_cpus)
    try:
        # The server comes first, so that its later children inherit its CPUs.
        postmaster.cpu_affinity(on)
        for child in postmaster.children(recursive=True):
            with suppress(psutil.NoSuchProcess):  # a session that has ended in the meantime
                child.cpu_affinity(on)
    except (psutil.Error, OSError, ValueError) as error:
        _logger.warning("PostgreSQL cannot be moved to CPU %s: %s", cpus.written(tuple(on)), error)
        return False
    return True


def _postmaster(data_dir: Path) -> psutil.Process | None:
    """Return the cluster's server process; None if it is down or invisible to this user."""
    try:
        pid = int((data_dir / "postmaster.pid").read_text().split(maxsplit=1)[0])
        process = psutil.Process(pid)
        return process if str(data_dir) in process.cmdline() else None
    except (OSError, ValueError, IndexError, psutil.Error):
        return None
