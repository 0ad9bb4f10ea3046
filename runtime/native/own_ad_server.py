"""An ad server with a separate PostgreSQL, for one measurement.

Both are independent of the appliance, because they use free ports and a temporary folder. They end
with the process that started them, even if that process is killed.
"""

import os
import secrets
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from common import hosts, locks, log_tail, pinned, ports, processes
from common.answering import get_refusal
from runtime.native import postgres
from runtime.settings import REPOSITORY

PATIENCE_S = 300.0
"""The time limit for a start, in seconds. Loading a large inventory is slow on a busy machine."""
END_PATIENCE_S = 60.0

Environment = dict[str, str]

_PREFIX = "doorbuster-ads-"
_LOCK = "owner.lock"


class NotStarted(RuntimeError):  # noqa: N818
    """The error for a PostgreSQL or an ad server that cannot be started; the message has the
    reason.
    """


@contextmanager
def own_folder() -> Iterator[Path]:
    """Create a temporary folder for the block; remove the folders of killed processes.

    Each process locks a file in its folder. The kernel releases the lock when the process ends, so
    a folder without a lock can be removed.
    """
    _remove_left_over()
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as name:
        folder = Path(name)
        unlocked = folder / "unlocked"
        with unlocked.open("wb") as lock:
            locks.hold(lock.fileno(), waits=True)
            unlocked.rename(folder / _LOCK)  # other processes must never find it unlocked
            yield folder


def _remove_left_over() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # BlockingIOError: its owner still runs
            facts = folder.lstat()
            if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.geteuid():
                continue
            with (folder / _LOCK).open("rb") as lock:
                locks.hold(lock.fileno())
                shutil.rmtree(folder)


@contextmanager
def seeded_database(banners: int, postgres_bin: Path | None = None) -> Iterator[Environment]:
    """Start a database with an inventory of `banners` contracts, and yield the environment for
    processes that use it. Raises NotStarted if the database cannot be started or filled.
    """
    with own_folder() as folder:
        # If this process is root, PostgreSQL runs under another user, who must be able to enter its
        # folder.
        folder.chmod(0o711)
        try:
            kept_in_memory = (("fsync", "off"), ("shared_buffers", "256MB"))
            cluster = postgres.temporary(folder / "postgres", kept_in_memory, postgres_bin)
        except (LookupError, OSError, postgres.PostgresError) as fault:
            raise NotStarted(str(fault)) from fault
        user = cluster.account.name if cluster.account else None
        log = folder / "postgres.log"
        with _running(
            "PostgreSQL", cluster.command(), lambda: postgres.refusal(cluster) is None, log,
            user=user,
        ):  # fmt: skip
            postgres.make_database(cluster)
            environment = {
                **{name: text for name, text in os.environ.items() if "DJANGO" not in name},
                "DOORBUSTER_STATE_DIR": str(folder),
                "DOORBUSTER_INNER_HOST": hosts.LOOPBACK,
                **cluster.variables(),
                "DOORBUSTER_SECRET_KEY": secrets.token_urlsafe(50),
                "DOORBUSTER_ADS_BANNERS": str(banners),
            }
            call(environment, "migrate-and-seed")
            yield environment


def call(environment: Mapping[str, str], command: str) -> str:
    """Run `python -m shop.ads COMMAND` and return its output. Raises NotStarted if it fails."""
    done = subprocess.run(
        _ours([sys.executable, "-m", "shop.ads", command]),
        cwd=REPOSITORY,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
    )
    if done.returncode != 0:
        raise NotStarted(
            f"`python -m shop.ads {command}` failed: {log_tail.last_line(done.stderr)}"
        )
    return done.stdout.strip()


@contextmanager
def ad_server(
    environment: Mapping[str, str], levels: Mapping[int, int], threads: int
) -> Iterator[int]:
    """Run an ad server with one process on the database of `environment`, and yield its port.
    Raises NotStarted if it does not start.

    `levels` maps each priority level to its number of threads; `threads` is the number of requests
    answered at the same time.
    """
    [port] = ports.free(1)

    def ready() -> bool:
        return get_refusal(hosts.LOOPBACK, port, "/ads/health") is None

    own = {
        **environment,
        "DOORBUSTER_ADS_PORT": str(port),
        "DOORBUSTER_ADS_PROCESSES": "1",
        "DOORBUSTER_ADS_THREADS": str(threads),
        "DOORBUSTER_ADS_PRIORITY_LEVELS": ",".join(
            f"{level}={count}" for level, count in levels.items()
        ),
    }
    log = Path(environment["DOORBUSTER_STATE_DIR"]) / "ads.log"
    program = [sys.executable, "-m", "shop.ads", "serve"]
    with _running("the ad server", program, ready, log, environment=own):
        yield port


@contextmanager
def _running(
    name: str,
    program: Sequence[str],
    ready: Callable[[], bool],
    log: Path,
    *,
    environment: Mapping[str, str] | None = None,
    user: str | None = None,
) -> Iterator[None]:
    """Start a process, run the block when the process is ready, then end the process."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            _ours(program, user),
            cwd=REPOSITORY,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            # Only the measuring process gets Ctrl-C, and ends the others in order.
            start_new_session=True,
        )
    try:
        if not processes.becomes_ready(process, ready, PATIENCE_S):
            said = log_tail.last_line(log_tail.read(log))
            raise NotStarted(f"{name} did not start: {said}")
        yield
    finally:
        processes.end(process, END_PATIENCE_S, signal.SIGINT)


def _ours(program: Sequence[str], user: str | None = None) -> list[str]:
    """Return the command line of a process that ends when this process ends."""
    on = tuple(sorted(os.sched_getaffinity(0)))
    return pinned.command(on, program, user=user, end_with_parent=signal.SIGINT, parent=os.getpid())
