"""The move of the running PostgreSQL of the appliance to the shop's CPUs, and back.

In the Connection Sentry paper, the database is the bottleneck. If PostgreSQL runs on the shop's
CPUs, it becomes a bottleneck here, too. After a restart, PostgreSQL is on the other CPUs again.
"""

import logging
from contextlib import suppress
from pathlib import Path
from typing import Literal, get_args

import psutil

from common import cpus, hosts
from runtime.settings import Settings
from runtime.state import State

Where = Literal["shop", "other"]
WHERE: tuple[str, ...] = get_args(Where)

_logger = logging.getLogger(__name__)


def move(settings: Settings, where: Where) -> bool:
    """Move PostgreSQL to the shop's CPUs, or to the CPUs of all other processes. Return whether
    PostgreSQL runs on the wanted CPUs now. A PostgreSQL that does not run, or belongs to another
    appliance or user, cannot be moved: the function then logs a line and returns False. If the shop
    has the same CPUs as all other processes, as on a machine with one CPU, the function logs this
    and does not move PostgreSQL. Raises ValueError for another `where`.
    """
    if where not in WHERE:
        raise ValueError(f"where: must be {' or '.join(map(repr, WHERE))}, not {where!r}")
    if not hosts.is_loopback(settings.postgres_host):
        # For the others' CPUs it stays where it is: it was never moved.
        level = logging.WARNING if where == "shop" else logging.INFO
        _logger.log(
            level,
            "PostgreSQL on %s does not belong to this appliance and is not moved",
            settings.postgres_host,
        )
        return False
    postmaster = _postmaster(State(settings.state_dir).postgres / "data")
    if postmaster is None:
        _logger.warning("no PostgreSQL of %s runs that could be moved", settings.state_dir)
        return False
    if settings.shop_cpus == settings.other_cpus:
        _logger.info("shop and database share CPU %s: not moved", cpus.written(settings.shop_cpus))
        return True
    on = list(settings.shop_cpus if where == "shop" else settings.other_cpus)
    try:
        postmaster.cpu_affinity(on)  # first: its later children start where it is
        for child in postmaster.children(recursive=True):
            with suppress(psutil.NoSuchProcess):  # a session that has ended meanwhile
                child.cpu_affinity(on)
    except (psutil.Error, OSError, ValueError) as error:
        _logger.warning("PostgreSQL cannot be moved to CPU %s: %s", cpus.written(tuple(on)), error)
        return False
    return True


def _postmaster(data_dir: Path) -> psutil.Process | None:
    """Return the server process of this cluster, or None if it does not run or this user may not
    see it.
    """
    try:
        pid = int((data_dir / "postmaster.pid").read_text().split(maxsplit=1)[0])
        process = psutil.Process(pid)
        return process if str(data_dir) in process.cmdline() else None
    except (OSError, ValueError, IndexError, psutil.Error):
        return None
