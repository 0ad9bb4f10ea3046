"""Fixtures for every part: a separate real PostgreSQL and Redis for the test session.

The appliance's code starts them in a temporary state folder, on free ports, when the first test
uses `appliance_database`; a running appliance is not touched. The variables are set before Django
reads its settings.
"""

import dataclasses
import gc
import importlib.util
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from common import log_tail, pinned, ports, processes
from runtime import accounts
from runtime.native import postgres, redis_server
from runtime.settings import REPOSITORY, Settings, load
from tests import fork_server, skips

PATIENCE_S = 120.0
LONG_FIRST = ("tests/walks/", "tests/lab/console/", "tests/runtime/", "tests/system/")

# The same examples every time, and no deadline: a slow or busy machine fails no test.
hypothesis.settings.register_profile(
    "doorbuster",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("doorbuster")


def pytest_configure(config: pytest.Config) -> None:
    """Point every part at the session's services; they start when a test needs them.

    With pytest-xdist each worker process is a session. The process that hands out the tests runs
    none, and the workers would inherit its variables.
    """
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        return
    # Ignored where this runs in the background; parts would inherit that and miss their end.
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    postgres_port, redis_port, broker_port, *others = ports.free(10)
    # Not pytest's temporary folder: as root that is closed to the user PostgreSQL runs under.
    state_dir = Path(tempfile.mkdtemp(prefix="doorbuster-test-"))
    state_dir.chmod(0o755)
    config.add_cleanup(lambda: shutil.rmtree(state_dir, ignore_errors=True))
    os.environ |= {
        "DOORBUSTER_STATE_DIR": str(state_dir),
        "DOORBUSTER_RESULTS_DIR": str(state_dir / "results"),
        "DOORBUSTER_POSTGRES_HOST": "127.0.0.1",
        "DOORBUSTER_POSTGRES_PORT": str(postgres_port),
        "DOORBUSTER_POSTGRES_USER": "doorbuster",
        "DOORBUSTER_POSTGRES_PASSWORD": secrets.token_urlsafe(16),
        "DOORBUSTER_POSTGRES_DB": "doorbuster",
        "DOORBUSTER_REDIS_PORT": str(redis_port),
        "DOORBUSTER_BROKER_PORT": str(broker_port),
        "DOORBUSTER_REDIS_PASSWORD": secrets.token_urlsafe(16),
        "DOORBUSTER_SECRET_KEY": secrets.token_urlsafe(50),
        # Sent by every caller; the tests of those who ask for it say so.
        "DOORBUSTER_INNER_TOKEN": secrets.token_urlsafe(32),
        "DOORBUSTER_INNER_TOKEN_REQUIRED": "0",
        "DOORBUSTER_GATEWAY_PORT": str(others[0]),
        "DOORBUSTER_GATEWAY_ADMIN_PORT": str(others[1]),
        "DOORBUSTER_SHOP_PORT": str(others[2]),
        "DOORBUSTER_SHOP_CONTROLLER_PORT": str(others[3]),
        "DOORBUSTER_GATEWAY_TLS_PORT": str(others[4]),
        # The console links to who answers there: nobody.
        "DOORBUSTER_PROMETHEUS_PORT": str(others[5]),
        "DOORBUSTER_GRAFANA_PORT": str(others[6]),
    }
    if importlib.util.find_spec("shop.settings"):
        import django

        os.environ["DJANGO_SETTINGS_MODULE"] = "shop.settings"
        django.setup()  # sets TZ
    fork_server.variables_of_server()


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out the tests that `-m` excludes
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse tests that need a browser and do not say so. Give long files to processes first, so
    that no long file begins while the others end.
    """
    for item in items:
        uses = "chromium" in getattr(item, "fixturenames", ())
        if uses and item.get_closest_marker("browser") is None:
            raise pytest.UsageError(f"{item.nodeid} uses `chromium`; mark it `browser`")
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: not item.nodeid.startswith(LONG_FIRST))


def pytest_collection_finish() -> None:
    """Take the thousands of collected tests out of every later garbage collection, which would
    walk over all of them: about 8 % of the CPU time of a test.
    """
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip whose reason is not in `expected_skips.toml` into a failure."""
    report = yield
    skips.fail_if_unexpected(report)
    return report


@pytest.fixture(scope="session")
def appliance_database() -> Iterator[Settings]:
    """PostgreSQL with an empty database, and Redis; yields the settings to reach them."""
    settings = load()
    run_as = accounts.for_database()
    folder = settings.state_dir / "postgres"
    cluster = postgres.Cluster(
        installation=postgres.find(settings.postgres_bin, folder, run_as),
        folder=folder,
        port=settings.postgres_port,
        user=settings.postgres_user,
        password=settings.postgres_password,
        database=settings.postgres_db,
        account=run_as,
        # What a test leaves on disk is thrown away.
        configuration=(("fsync", "off"), ("synchronous_commit", "off"), ("shared_buffers", "64MB")),
    )
    folder = settings.state_dir / "redis"
    sessions = redis_server.Store(
        installation=redis_server.find(settings.redis_bin, folder, run_as),
        folder=folder,
        port=settings.redis_port,
        password=settings.redis_password,
        account=run_as,
    )
    queues = dataclasses.replace(
        sessions,
        folder=settings.state_dir / "broker",
        port=settings.broker_port,
        configuration=redis_server.BROKER_CONFIGURATION,
    )
    postgres.prepare(cluster)
    with ExitStack() as services:
        services.enter_context(
            serving(
                cluster.command(),
                lambda: postgres.refusal(cluster),
                settings.state_dir / "postgres.log",
                stop=signal.SIGINT,
                user=run_as.name if run_as else None,
            )
        )
        for store in (sessions, queues):
            redis_server.prepare(store)
            services.enter_context(
                serving(
                    store.command(),
                    partial(redis_server.refusal, store.port),
                    store.folder.with_suffix(".log"),
                    user=run_as.name if run_as else None,
                )
            )
        postgres.make_database(cluster)
        yield settings


@pytest.fixture(scope="session")
def django_db_modify_db_settings(appliance_database: Settings) -> None:
    """Let pytest-django make its test database only after PostgreSQL has started."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Yield a headless browser to a module: while it exists, this thread cannot call Django."""
    from playwright.sync_api import sync_playwright

    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    if executable is None:
        pytest.fail("no Chromium; install it: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def serving(
    command: list[str],
    refusal: Callable[[], str | None],
    log: Path,
    *,
    stop: signal.Signals = signal.SIGTERM,
    user: str | None = None,
) -> Iterator[processes.AnyProcess]:
    """Run a server process from when `refusal` returns None until the block ends.

    It dies with the test process, however that ends.
    """
    on = tuple(sorted(os.sched_getaffinity(0)))
    with log.open("wb") as output:
        files = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT}
        if user is None and fork_server.can_start(command):
            process: processes.AnyProcess = fork_server.Process(
                command, end_with_parent=stop, **files
            )
        else:
            command = pinned.command(on, command, user=user, end_with_parent=stop)
            process = subprocess.Popen(command, cwd=REPOSITORY, **files)
    try:
        if not processes.becomes_ready(process, lambda: refusal() is None, PATIENCE_S):
            pytest.fail(f"{command[0]}: {refusal()}\n{log_tail.of(log, 30)}")
        yield process
    finally:
        was_killed = process.poll() == -signal.SIGKILL  # by the test
        processes.end(process, PATIENCE_S, stop)
    ended = was_killed or process.returncode != -signal.SIGKILL
    assert ended, f"{command[0]} did not end by itself"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Yield a file system of 1 MB; skip the test where this user may not mount one."""
    folder = tmp_path / "small-disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"this user may not mount a file system: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)
