"""The services of the appliance, in the order they start: the table everything else walks.

Owns: each service's command line, CPUs, stop signal and health. Must not know: how they are
supervised, how progress is shown.
"""

import hashlib
import http.client
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtime import account, certificate_files, hosts, monitoring, pinned, postgres, redis_server
from runtime.settings import REPOSITORY, Settings
from runtime.state import State

APPLIANCE_VARIABLE = "DOORBUSTER_APPLIANCE"  # in every service's environment: the state folder
PAGE_TIMEOUT_S = 10.0
SEEDING_TIMEOUT_S = 300.0
SEEDING_TIMEOUT_S_PER_ROW = 0.002  # ten times what a book takes; a banner takes less


@dataclass(frozen=True, slots=True)
class Service:
    """One long-running program.

    `refusal` says why it does not serve yet, None when it does; `page_refusal` the same of a whole
    page, asked once after a start only, because a page takes part in a running measurement.
    """

    name: str
    title: str
    command: tuple[str, ...]
    port: int | None  # None: it listens nowhere
    cpus: tuple[int, ...]
    stop_signal: signal.Signals
    stop_wait_s: int
    ready_within_s: float
    refusal: Callable[[], str | None]
    page_refusal: Callable[[], str | None] = lambda: None
    tables: "Tables | None" = None
    port_variable: str = ""  # of an optional service: which of OPTIONAL_PORTS it needs
    code: tuple[str, ...] = ()  # files and folders, of the repository; a change restarts it
    prepare: Callable[[], None] = lambda: None
    started: Callable[[], None] = lambda: None

    @property
    def is_optional(self) -> bool:
        """Whether everything else works as well without it."""
        return bool(self.port_variable)

    def code_version(self) -> str:
        """A fingerprint of the code this service runs."""
        digest = hashlib.sha256()
        for part in self.code:
            root = REPOSITORY / part
            for path in [root] if root.is_file() else sorted(root.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    digest.update(f"{path}\0".encode() + path.read_bytes())
        return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Tables:
    """What a service wants in the database before it starts.

    `command` brings it there and is harmless when it is there already. It is left out after it was
    once done for the same `wanted` by the same code. `log` is also the name of its stamp.
    """

    title: str
    command: tuple[str, ...]
    log: str
    wanted: str
    timeout_s: float


def table(settings: Settings, state: State) -> list[Service]:
    """The services in the order they start; they stop in the reverse order.

    Raises `PostgresError`, `RedisError` or `LookupError` when a program cannot be had.
    """
    return [
        _postgres(settings, state),
        _redis(settings, state),
        _shop(settings),
        _ads(settings),
        _gateway(settings),
        _lab(settings),
        _lab_worker(settings),
        *(_monitoring(settings) if settings.monitoring else ()),
    ]


def _postgres(settings: Settings, state: State) -> Service:
    run_as = account.for_database()
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
        command=tuple(
            pinned.command(
                settings.other_cpus,
                cluster.command(),
                user=run_as.name if run_as else None,
                end_with_parent=signal.SIGINT,
                plain_environment=True,
            )
        ),
        port=settings.postgres_port,
        cpus=settings.other_cpus,
        stop_signal=signal.SIGINT,  # fast shutdown: does not wait for clients
        stop_wait_s=30,
        ready_within_s=60,
        refusal=lambda: postgres.refusal(cluster),
        code=("runtime/postgres.py",),
        prepare=lambda: postgres.prepare(cluster),
        started=lambda: postgres.make_database(cluster),
    )


def _redis(settings: Settings, state: State) -> Service:
    store = redis_server.Store(
        installation=redis_server.find(settings.redis_bin),
        folder=state.redis,
        port=settings.redis_port,
    )
    installation = store.installation
    return Service(
        name="redis",
        title=f"Redis {installation.version} ({installation.origin})",
        command=tuple(
            pinned.command(
                settings.other_cpus,
                store.command(),
                end_with_parent=signal.SIGTERM,
                plain_environment=True,
            )
        ),
        port=settings.redis_port,
        cpus=settings.other_cpus,
        stop_signal=signal.SIGTERM,
        stop_wait_s=10,
        ready_within_s=15,
        refusal=lambda: redis_server.refusal(store.port),
        code=("runtime/redis_server.py",),
        prepare=lambda: redis_server.prepare(store),
    )


def _shop(settings: Settings) -> Service:
    host = hosts.from_here(settings.inner_host)
    return Service(
        name="shop",
        title="Shop",
        command=tuple(
            pinned.command(
                settings.shop_cpus,
                [sys.executable, "-m", "shop", "serve"],
                end_with_parent=signal.SIGTERM,
            )
        ),
        port=settings.shop_port,
        cpus=settings.shop_cpus,
        stop_signal=signal.SIGTERM,
        stop_wait_s=20,
        ready_within_s=60,
        refusal=lambda: get_refusal(host, settings.shop_controller_port, "/status"),
        page_refusal=lambda: get_refusal(host, settings.shop_port, "/"),
        tables=Tables(
            title=f"Tables and {settings.catalogue_books:,} books",
            command=_beside(settings, "shop", "migrate-and-seed"),
            log="seed",
            wanted=f"{settings.postgres_db} {settings.catalogue_books}",
            timeout_s=SEEDING_TIMEOUT_S + SEEDING_TIMEOUT_S_PER_ROW * settings.catalogue_books,
        ),
        code=("shop",),
    )


def _ads(settings: Settings) -> Service:
    host = hosts.from_here(settings.inner_host)
    return Service(
        name="ads",
        title="Ad server",
        command=tuple(
            pinned.command(
                settings.other_cpus,
                [sys.executable, "-m", "shop.ads", "serve"],
                end_with_parent=signal.SIGTERM,
            )
        ),
        port=settings.ads_port,
        cpus=settings.other_cpus,
        stop_signal=signal.SIGTERM,
        stop_wait_s=20,  # reports to the database what it has delivered
        ready_within_s=120,  # a large inventory takes a while to load
        refusal=lambda: get_refusal(host, settings.ads_port, "/ads/health"),
        tables=Tables(
            title=f"Contracts of {settings.ads_banners:,} banners",
            command=_beside(settings, "shop.ads", "migrate-and-seed"),
            log="ads-seed",
            wanted=f"{settings.postgres_db} {settings.ads_banners}",
            timeout_s=SEEDING_TIMEOUT_S + SEEDING_TIMEOUT_S_PER_ROW * settings.ads_banners,
        ),
        # Its own, and what it takes from the shop.
        code=(
            "shop/ads",
            "shop/catalogue",
            "shop/page_types.py",
            "shop/settings.py",
            "shop/slots.py",
        ),
    )


def _gateway(settings: Settings) -> Service:
    host, inner_host = hosts.from_here(settings.host), hosts.from_here(settings.inner_host)
    return Service(
        name="gateway",
        title="Gateway",
        command=tuple(
            pinned.command(
                settings.other_cpus,
                [sys.executable, "-m", "gateway"],
                end_with_parent=signal.SIGTERM,
            )
        ),
        port=settings.gateway_port,
        cpus=settings.other_cpus,
        stop_signal=signal.SIGTERM,  # drains: requests under way are answered first
        stop_wait_s=40,
        ready_within_s=20,
        refusal=lambda: get_refusal(inner_host, settings.gateway_admin_port, "/health"),
        page_refusal=lambda: get_refusal(host, settings.gateway_port, "/"),
        # Another certificate means another start, too.
        code=("gateway", str(settings.gateway_tls_certificate), str(settings.gateway_tls_key)),
        prepare=lambda: _keep_certificate(settings),
    )


def _keep_certificate(settings: Settings) -> None:
    """One of the appliance's own, unless the settings name another."""
    from runtime import certificates  # takes a while, and only a start needs it

    own = certificate_files.of(settings.state_dir)
    if own.server == settings.gateway_tls_certificate and own.key == settings.gateway_tls_key:
        certificates.keep(own.folder, names=certificates.own_names(*settings.gateway_names))


_LAB_CODE = ("lab", "gateway/policies", "simulator", "loadgen", "runtime/settings.py")


def _lab(settings: Settings) -> Service:
    host = hosts.from_here(settings.lab_host)
    return Service(
        name="lab",
        title="Lab console",
        command=tuple(
            pinned.command(
                settings.other_cpus,
                [sys.executable, "-m", "lab.console", "serve"],
                end_with_parent=signal.SIGTERM,
            )
        ),
        port=settings.lab_port,
        cpus=settings.other_cpus,
        stop_signal=signal.SIGTERM,
        stop_wait_s=15,
        ready_within_s=60,
        refusal=lambda: get_refusal(host, settings.lab_port, "/health"),
        page_refusal=lambda: get_refusal(host, settings.lab_port, "/"),
        tables=Tables(
            title="The console's databases",
            command=_beside(settings, "lab.console", "prepare"),
            log="lab-prepare",
            wanted=wanted_by_lab(settings),
            timeout_s=SEEDING_TIMEOUT_S,
        ),
        code=_LAB_CODE,
    )


def wanted_by_lab(settings: Settings) -> str:
    """Its database, and what is written there for Grafana: the reader's password, the address."""
    # With a secret of ours: the stamp is no help in guessing a password that somebody chose.
    secrets = f"{settings.secret_key}\0{settings.results_password}"
    password = hashlib.sha256(secrets.encode()).hexdigest()[:16]
    where = hosts.authority(hosts.from_here(settings.lab_host), settings.lab_port)
    return f"console {settings.postgres_db} {where} {password}"


def _lab_worker(settings: Settings) -> Service:
    return Service(
        name="lab-worker",
        title="Workers of the console",
        command=tuple(
            pinned.command(
                settings.other_cpus,
                [sys.executable, "-m", "lab.console", "work"],
                end_with_parent=signal.SIGQUIT,  # at once: what they carry out ends with them
            )
        ),
        port=None,
        cpus=settings.other_cpus,
        stop_signal=signal.SIGQUIT,
        stop_wait_s=40,
        ready_within_s=60,
        refusal=lambda: None,
        code=_LAB_CODE,
    )


def _monitoring(settings: Settings) -> Iterator[Service]:
    """Prometheus where it is installed, and the exporters that are."""
    prometheus = monitoring.find(monitoring.PROMETHEUS)
    if prometheus is None:
        return
    exporters = {job: monitoring.find(job) for job in monitoring.EXPORTERS}
    jobs = [job for job, program in exporters.items() if program is not None]

    def configure() -> None:
        places = monitoring.native(settings, [*jobs, "celery", monitoring.PROMETHEUS])
        monitoring.configure(
            monitoring.folder_of(settings.state_dir),
            "appliance",
            monitoring.targets(settings, places),
        )

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
            )
    yield _optional(
        settings,
        "celery-exporter",
        "Exporter of Celery (Flower)",
        monitoring.flower(settings),
        path="/healthcheck",
        plain_environment=False,  # where its broker's password is
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
    command: list[str],
    *,
    path: str,
    plain_environment: bool = True,
    **more: Any,
) -> Service:
    """A service without which everything else works as well; it listens on the inner host."""
    variable = f"DOORBUSTER_{name.upper().replace('-', '_')}_PORT"
    port = settings.ports()[variable]
    return Service(
        name=name,
        title=title,
        command=tuple(
            pinned.command(
                settings.other_cpus,
                command,
                end_with_parent=signal.SIGTERM,
                plain_environment=plain_environment,
            )
        ),
        port=port,
        port_variable=variable,
        cpus=settings.other_cpus,
        stop_signal=signal.SIGTERM,
        stop_wait_s=20,
        ready_within_s=120,
        refusal=lambda: get_refusal(hosts.from_here(settings.inner_host), port, path),
        **more,
    )


def get_refusal(host: str, port: int, path: str) -> str | None:
    """Why `GET path` is not answered with 200; None when it is. Knows of no proxy."""
    url = f"http://{hosts.authority(host, port)}{path}"
    connection = http.client.HTTPConnection(host, port, timeout=PAGE_TIMEOUT_S)
    try:
        connection.request("GET", path, headers={"User-Agent": "doorbuster-health"})
        response = connection.getresponse()
        response.read()
    except (OSError, http.client.HTTPException) as error:
        return f"{url}: {error or type(error).__name__}"
    finally:
        connection.close()
    if response.status != 200:
        return f"{url} answered {response.status} {response.reason}"
    return None


def _beside(settings: Settings, module: str, *arguments: str) -> tuple[str, ...]:
    """`python -m module …`, on the CPUs that are not the shop's."""
    return tuple(pinned.command(settings.other_cpus, [sys.executable, "-m", module, *arguments]))


def locked_dependencies() -> Path:
    """The file whose change means that every service runs on other libraries."""
    return REPOSITORY / "uv.lock"
