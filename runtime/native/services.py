"""The services of the appliance in their starting order, as rows of one table."""

import hashlib
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import hosts, pinned
from common.answering import get_refusal
from runtime import accounts, monitoring
from runtime.native import postgres, redis_server
from runtime.settings import REPOSITORY, Settings
from runtime.state import State, digest_of

APPLIANCE_VARIABLE = "DOORBUSTER_APPLIANCE"  # the state folder, in every service's environment
SEEDING_TIMEOUT_S = 900.0  # on emulated machines and NFS, seconds become minutes
SEEDING_TIMEOUT_S_PER_ROW = 0.002  # ten times the time for a book; a banner takes less


@dataclass(frozen=True, slots=True)
class Service:
    """A service of the appliance: a long-running program.

    `refusal` returns why the service is not ready, or None. `page_refusal` checks the same with a
    request for a whole page. `make up` calls `page_refusal` only after a start, because the page
    would count in a measurement in progress.
    """

    name: str
    title: str
    program: tuple[str, ...]
    port: int | None  # None if it has no port
    cpus: tuple[int, ...]
    stop_signal: signal.Signals  # also if its supervisor dies
    stop_wait_s: int
    refusal: Callable[[], str | None]
    # Enough on a busy, an emulated or an NFS machine; a program that ends fails much sooner.
    ready_within_s: float = 600.0
    page_refusal: Callable[[], str | None] = lambda: None
    tables: "Tables | None" = None
    port_variable: str = ""  # an optional service's port, among OPTIONAL_PORTS
    code: tuple[str, ...] = ()  # files and folders; a change restarts the service
    prepare: Callable[[], None] = lambda: None
    started: Callable[[], None] = lambda: None
    user: str | None = None  # the account that runs it instead of root
    plain_environment: bool = False  # no locale, no secrets
    writes_results: bool = (
        False  # other users may read results; its other files are in closed folders
    )

    def command(self, supervisor: Path | None = None) -> tuple[str, ...]:
        """Return the command line, which begins by setting the CPUs.

        `supervisor` is the file with the id of the process that starts the service. If that process
        is killed before the service starts, the service does not start.
        """
        return tuple(
            pinned.command(
                self.cpus,
                self.program,
                user=self.user,
                end_with_parent=self.stop_signal,
                parent=supervisor,
                plain_environment=self.plain_environment,
            )
        )

    @property
    def is_optional(self) -> bool:
        """Whether all other services work without it."""
        return bool(self.port_variable)

    def code_version(self) -> str:
        """Return a fingerprint of the code that this service runs."""
        return digest_of(self.code)


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables that a service needs in the database before it starts.

    `command` creates the tables, or migrates existing tables. The command does not run if the stamp
    with the name `log` records the same `wanted` and the same code.
    """

    title: str
    command: tuple[str, ...]
    log: str
    wanted: str
    timeout_s: float


def beside(settings: Settings, module: str, *arguments: str) -> tuple[str, ...]:
    """Return `python -m module …` as a command on the CPUs that the shop does not use."""
    return tuple(pinned.command(settings.other_cpus, [sys.executable, "-m", module, *arguments]))


def table(settings: Settings, state: State) -> list[Service]:
    """Return the services in their starting order; they stop in the reverse order.

    Raises the same errors as `postgres_service` and `redis_service`.
    """
    return [
        postgres_service(settings, state),
        redis_service(settings, state),
        broker_service(settings, state),
        shop(settings),
        ads(settings),
        gateway(settings),
        lab(settings),
        lab_worker(settings),
        *(watchers(settings) if settings.monitoring else ()),
    ]


def locked_dependencies() -> Path:
    """Return the lock file of the Python libraries that all services use."""
    return REPOSITORY / "uv.lock"


def postgres_service(settings: Settings, state: State) -> Service:
    """Return the service of PostgreSQL.

    Raises `PostgresError` if no PostgreSQL is usable, and `LookupError` if no account can run it.
    """
    run_as = accounts.for_database(state.postgres / "data")
    cluster = postgres.Cluster(
        installation=postgres.find(settings.postgres_bin, state.postgres, run_as),
        folder=state.postgres,
        port=settings.postgres_port,
        user=settings.postgres_user,
        password=settings.postgres_password,
        database=settings.postgres_db,
        account=run_as,
    )
    installation = cluster.installation
    return Service(
        name="postgres",
        title=f"PostgreSQL {installation.version} ({installation.origin})",
        program=tuple(cluster.command()),
        user=run_as.name if run_as else None,
        plain_environment=True,
        port=settings.postgres_port,
        cpus=settings.other_cpus,
        stop_signal=signal.SIGINT,  # fast shutdown: does not wait for clients
        stop_wait_s=30,
        refusal=lambda: postgres.refusal(cluster),
        code=("runtime/native/postgres.py",),
        prepare=lambda: postgres.prepare(cluster),
        started=lambda: postgres.make_database(cluster),
    )


def redis_service(settings: Settings, state: State) -> Service:
    """Return the service of the Redis for the shop's sessions.

    Raises `RedisError` if no Redis is usable, and `LookupError` if no account can run it.
    """
    return _redis(
        settings, state, "redis", "Redis", settings.redis_port, redis_server.CONFIGURATION
    )


def broker_service(settings: Settings, state: State) -> Service:
    """Return the service of the Redis for the queues of the console and of Celery executors.

    It is a separate server, so that a full queue does not affect the shop's sessions. Raises the
    same errors as `redis_service`.
    """
    return _redis(
        settings,
        state,
        "broker",
        "Queues, Redis",
        settings.broker_port,
        redis_server.BROKER_CONFIGURATION,
    )


def _redis(
    settings: Settings,
    state: State,
    name: str,
    title: str,
    port: int,
    configuration: Mapping[str, str],
) -> Service:
    run_as = accounts.for_database()
    store = redis_server.Store(
        installation=redis_server.find(settings.redis_bin, state.redis, run_as),
        folder=state.folder / name,
        port=port,
        password=settings.redis_password,
        account=run_as,
        configuration=configuration,
    )
    installation = store.installation
    return Service(
        name=name,
        title=f"{title} {installation.version} ({installation.origin})",
        program=tuple(store.command()),
        user=run_as.name if run_as else None,
        plain_environment=True,
        port=port,
        cpus=settings.other_cpus,
        stop_signal=signal.SIGTERM,
        stop_wait_s=10,
        refusal=lambda: redis_server.refusal(store.port),
        code=("runtime/native/redis_server.py",),
        prepare=lambda: redis_server.prepare(store),
    )


def shop(settings: Settings) -> Service:
    host = hosts.from_here(settings.inner_host)
    return Service(
        name="shop",
        title="Shop",
        program=(sys.executable, "-m", "shop", "serve"),
        port=settings.shop_port,
        cpus=settings.shop_cpus,
        stop_signal=signal.SIGTERM,
        stop_wait_s=20,
        refusal=lambda: get_refusal(host, settings.shop_controller_port, "/health"),
        page_refusal=lambda: get_refusal(host, settings.shop_port, "/"),
        tables=shop_tables(settings),
        code=("shop", "common"),
    )


def shop_tables(settings: Settings) -> Tables:
    books = settings.catalogue_books
    return _seeded(settings, "shop", "seed", f"Tables and {books:,} books", books)


def ads_tables(settings: Settings) -> Tables:
    banners = settings.ads_banners
    return _seeded(settings, "shop.ads", "ads-seed", f"Contracts of {banners:,} banners", banners)


def _seeded(settings: Settings, module: str, log: str, title: str, rows: int) -> Tables:
    """Return the tables that `python -m MODULE migrate-and-seed` fills with this many rows."""
    return Tables(
        title=title,
        command=beside(settings, module, "migrate-and-seed"),
        log=log,
        wanted=f"{settings.postgres_db} {rows}",
        timeout_s=SEEDING_TIMEOUT_S + SEEDING_TIMEOUT_S_PER_ROW * rows,
    )


def ads(settings: Settings) -> Service:
    host = hosts.from_here(settings.inner_host)
    return Service(
        name="ads",
        title="Ad server",
        program=(sys.executable, "-m", "shop.ads", "serve"),
        port=settings.ads_port,
        cpus=settings.other_cpus,
        stop_signal=signal.SIGTERM,
        stop_wait_s=20,  # time to report its deliveries to the database
        refusal=lambda: get_refusal(host, settings.ads_port, "/ads/health"),
        tables=ads_tables(settings),
        # Its code, and the shop's modules that it uses.
        code=(
            "common",
            "shop/ads",
            "shop/catalogue",
            "shop/page_types.py",
            "shop/server",
            "shop/settings.py",
            "shop/stock/tables.py",
        ),
    )


def gateway(settings: Settings) -> Service:
    tls = (settings.gateway_tls_certificate, settings.gateway_tls_key)
    host, inner_host = hosts.from_here(settings.host), hosts.from_here(settings.inner_host)
    return Service(
        name="gateway",
        title="Gateway",
        program=(sys.executable, "-m", "gateway"),
        port=settings.gateway_port,
        cpus=settings.other_cpus,
        stop_signal=signal.SIGTERM,  # drains: requests in progress are answered first
        stop_wait_s=40,
        refusal=lambda: get_refusal(inner_host, settings.gateway_admin_port, "/health"),
        page_refusal=lambda: get_refusal(host, settings.gateway_port, "/"),
        # Another certificate also requires a restart.
        code=("gateway", "common", *map(str, tls)),
        prepare=lambda: _keep_certificate(settings, *tls),
    )


def _keep_certificate(settings: Settings, *files: Path) -> None:
    """Make sure that the appliance's certificate is valid, or raise CertificateError. Do nothing if
    the settings name another certificate.
    """
    if settings.creates_certificate(*files):
        from runtime import certificates  # slow to import, and only a start needs it

        names = certificates.own_names(*settings.served_names)
        certificates.keep(files[0].parent, names=names)


_LAB_CODE = ("lab", "common", "gateway/policies", "simulator", "loadgen", "runtime/settings.py")


def lab(settings: Settings) -> Service:
    host = hosts.from_here(settings.lab_host)
    page = "/people/login" if settings.lab_accounts else "/"  # other pages link to it
    tls = (settings.lab_tls_certificate, settings.lab_tls_key) if settings.lab_accounts else ()
    return Service(
        name="lab",
        title="Lab console",
        program=(sys.executable, "-m", "lab.console", "serve"),
        port=settings.lab_port,
        cpus=settings.other_cpus,
        stop_signal=signal.SIGTERM,
        stop_wait_s=15,
        refusal=lambda: get_refusal(host, settings.lab_port, "/health", settings.lab_trust),
        page_refusal=lambda: get_refusal(host, settings.lab_port, page, settings.lab_trust),
        tables=lab_tables(settings),
        code=(*_LAB_CODE, *map(str, tls)),  # another certificate also requires a restart
        prepare=lambda: _keep_certificate(settings, *tls),
        writes_results=True,
    )


def lab_tables(settings: Settings) -> Tables:
    # The stamp also changes with two secrets. A generated secret is included, so that the stamp
    # does not help to guess a chosen password.
    secrets = f"{settings.secret_key}\0{settings.results_password}"
    password = hashlib.sha256(secrets.encode()).hexdigest()[:16]
    return Tables(
        title="The console's databases",
        command=beside(settings, "lab.console", "prepare"),
        log="lab-prepare",
        wanted=f"console {settings.postgres_db} {settings.lab_url} {password}",
        timeout_s=SEEDING_TIMEOUT_S,
    )


def lab_worker(settings: Settings) -> Service:
    """Return the service of the console's workers, which carry out launches."""
    return Service(
        name="lab-worker",
        title="Workers of the console",
        program=(sys.executable, "-m", "lab.console", "work"),
        port=None,
        cpus=settings.other_cpus,
        stop_signal=signal.SIGQUIT,  # the workers do not wait for their runs, which end with them
        stop_wait_s=40,
        refusal=lambda: None,
        code=_LAB_CODE,
        writes_results=True,
    )


def watchers(settings: Settings) -> Iterator[Service]:
    """Yield the services of Prometheus and of the installed exporters."""
    prometheus = monitoring.find(monitoring.PROMETHEUS)
    if prometheus is None:
        return
    exporters = {job: monitoring.find(job) for job in monitoring.EXPORTERS}
    jobs = [job for job, program in exporters.items() if program is not None]

    def configure() -> None:
        places = monitoring.native(settings, [*jobs, monitoring.PROMETHEUS])
        folder = monitoring.folder_of(settings.state_dir)
        targets = monitoring.targets(settings, places)
        monitoring.configure(folder, "appliance", targets, monitoring.trust(settings))
        folder.chmod(0o700)  # Prometheus runs under this account, unlike in containers

    def password() -> None:
        monitoring.prepare_postgres(settings)

    for job, program in exporters.items():
        if program is not None:
            yield _optional(
                settings,
                f"{job}-exporter",
                f"Exporter of {job} {program.version}",
                monitoring.exporter(job, program, settings),
                path="/",
                prepare=password if job == "postgres" else lambda: None,
                plain_environment=job != "redis",  # the environment has its password
            )
    yield _optional(
        settings,
        "prometheus",
        f"Prometheus {prometheus.version}",
        monitoring.prometheus(prometheus, settings),
        path="/-/ready",
        code=("dashboards/prometheus",),
        prepare=configure,
    )


def _optional(
    settings: Settings,
    name: str,
    title: str,
    program: list[str],
    *,
    path: str,
    plain_environment: bool = True,
    **more: Any,
) -> Service:
    """Return an optional service: no other service needs it. It listens on the inner host."""
    variable = f"DOORBUSTER_{name.upper().replace('-', '_')}_PORT"
    port = settings.ports()[variable]
    return Service(
        name=name,
        title=title,
        program=tuple(program),
        plain_environment=plain_environment,
        port=port,
        port_variable=variable,
        cpus=settings.other_cpus,
        stop_signal=signal.SIGTERM,
        stop_wait_s=20,
        refusal=lambda: get_refusal(hosts.from_here(settings.inner_host), port, path),
        **more,
    )
