"""The settings of the appliance, each declared once and read from three places.

The environment overrides the file `.env`, which overrides the defaults. A secret that is not set
gets the generated value (`runtime.credentials`).
"""

import difflib
import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

from pydantic import AfterValidator, Field, PrivateAttr

from common import cpus, hosts, shared_settings
from common.settings import (
    PREFIX,
    Form,
    SettingsError,
    SettingsModel,
    read_leniently,
    setting,
    written,
)
from common.shared_settings import CpuList, Folder, Names, Port, Switch
from runtime import accounts, certificate_files, credentials

REPOSITORY = Path(__file__).resolve().parent.parent
IS_CLONE = (REPOSITORY / "pyproject.toml").is_file()
"""Whether the code runs from a clone of the repository."""
FOLDER = REPOSITORY if IS_CLONE else Path.cwd()
"""The folder of `.env` and `results`: the clone or, for an installed program, the current folder.
"""

__all__ = ["REPOSITORY", "Settings", "SettingsError", "load", "load_leniently"]


def _limits(text: str) -> str:
    """Return the text if it is a list of limits; `lab.console.site.allowances` checks the names."""
    if not all(re.fullmatch(r"[a-z_]+=[0-9]+", word) for word in text.replace(",", " ").split()):
        raise ValueError(
            "not a list of limits; allowed: name=number, separated by spaces, e.g. "
            "runs_per_launch=5000 (docs/console.md, *What one person may have*)"
        )
    return text


def _broker(text: str) -> str:
    if not text.startswith(("redis://", "rediss://")):
        raise ValueError("not a broker; allowed: redis://host:port/database")
    return text


def _trace_address(text: str) -> str:
    if text and not (text.startswith(("http://", "https://")) and text.count("{trace}") == 1):
        raise ValueError(f"not the address of traces; allowed: {_TRACE_ADDRESS}")
    return text


_TRACE_ADDRESS = "an address with {trace} in it, e.g. http://127.0.0.1:16686/trace/{trace}"
TraceAddress = Annotated[str, AfterValidator(_trace_address), Form(_TRACE_ADDRESS)]
Limits = Annotated[str, AfterValidator(_limits), Form("`name=number`, separated by spaces")]
Broker = Annotated[str, AfterValidator(_broker), Form("`redis://:password@host:port/database`")]
_GENERATED = "generated at the first start and kept in the state folder"
_SIGN_IN = "console.md#sign-in"


class Settings(SettingsModel):
    """The settings that every process of the appliance reads."""

    state_dir: shared_settings.StateDir
    results_dir: Folder = setting(
        "RESULTS_DIR",
        FOLDER / "results",
        "folder of the results; no command empties it",
        shown="`results/` in the repository, or in the current folder of an installed program",
        example="results",
    )
    host: shared_settings.PublicHost
    inner_host: shared_settings.InnerHost
    gateway_host: shared_settings.GatewayHost
    gateway_port: shared_settings.GatewayPort
    gateway_tls_port: shared_settings.GatewayTlsPort
    gateway_tls_certificate: shared_settings.GatewayTlsCertificate
    gateway_tls_key: shared_settings.GatewayTlsKey
    gateway_admin_port: shared_settings.GatewayAdminPort
    shop_host: shared_settings.ShopHost
    shop_port: shared_settings.ShopPort
    shop_controller_port: shared_settings.ShopControllerPort
    postgres_host: shared_settings.PostgresHost
    postgres_port: shared_settings.PostgresPort
    postgres_user: shared_settings.PostgresUser
    postgres_password: shared_settings.PostgresPassword
    postgres_db: shared_settings.PostgresDb
    postgres_bin: Folder | None = setting(
        "POSTGRES_BIN",
        None,
        "bin folder of the PostgreSQL to use (15 or newer)",
        shown="the installed PostgreSQL, otherwise the one in `.venv`",
        example="/usr/lib/postgresql/17/bin",
    )
    redis_host: shared_settings.RedisHost
    redis_port: shared_settings.RedisPort
    redis_password: shared_settings.RedisPassword
    redis_bin: Folder | None = setting(
        "REDIS_BIN",
        None,
        "redis-server or valkey-server to use (Redis 6.2 or newer)",
        shown="the installed program, otherwise the one in `.venv`",
        example="/usr/bin/redis-server",
    )
    broker_port: Port = setting(
        "BROKER_PORT",
        8094,
        "port of a second Redis, for the console's messages and for the tasks and results of "
        "Celery executors",
        page="decisions/0022-two-redis-servers.md",
    )
    ads_host: shared_settings.AdsHost
    ads_port: shared_settings.AdsPort
    ads_banners: shared_settings.AdsBanners
    lab_port: Port = setting(
        "LAB_PORT",
        8087,
        "port of the lab console, on `DOORBUSTER_HOST` if the console has accounts or both hosts "
        "are loopback addresses, otherwise on `DOORBUSTER_INNER_HOST`",
        page="console.md",
    )
    lab_tls_certificate: Folder = setting(
        "LAB_TLS_CERTIFICATE",
        None,
        "PEM file with the certificate of the console with accounts; needs "
        "`DOORBUSTER_LAB_TLS_KEY`",
        shown="`certificates/server.pem` in the state folder, made at the first start",
        example="/etc/ssl/lab.pem",
        page="console.md#tls",
    )
    lab_tls_key: Folder = setting(
        "LAB_TLS_KEY",
        None,
        "PEM file with the private key of the console's certificate",
        shown="`certificates/server-key.pem` in the state folder, made at the first start",
        example="/etc/ssl/lab-key.pem",
    )
    lab_names: Names = setting(
        "LAB_NAMES",
        (),
        "names and addresses by which browsers call the console with accounts; the generated "
        "certificate is also valid for these",
        example="lab.example.edu,10.0.0.5",
    )
    lab_hsts_s: Annotated[int, Field(ge=0, le=2 * 31_536_000)] = setting(
        "LAB_HSTS_S",
        86_400,
        "real seconds for which a browser that trusts the console's certificate uses only TLS for "
        "every port of this host name (HTTP Strict Transport Security); 0 turns this off",
        page="console.md#tls",
    )
    prometheus_port: Port = setting("PROMETHEUS_PORT", 8088, "port of Prometheus, if it runs")
    grafana_port: Port = setting("GRAFANA_PORT", 8089, "port of Grafana, if it runs")
    node_exporter_port: Port = setting(
        "NODE_EXPORTER_PORT", 8091, "port of Prometheus' exporter for the machine"
    )
    postgres_exporter_port: Port = setting(
        "POSTGRES_EXPORTER_PORT", 8092, "port of Prometheus' exporter for PostgreSQL"
    )
    redis_exporter_port: Port = setting(
        "REDIS_EXPORTER_PORT", 8093, "port of Prometheus' exporter for Redis"
    )
    monitoring: Switch = setting(
        "MONITORING",
        True,
        "0: `make up` does not start Prometheus, exporters and Grafana, even if they are installed",
    )
    first_look: Switch = setting(
        "FIRST_LOOK",
        True,
        "1: the console's first start launches a short comparison; 0: it does not "
        "(`make up FIRST_LOOK=0`)",
    )
    lab_accounts: Switch = setting(
        "LAB_ACCOUNTS",
        False,
        "1: people log in to the console; 0: the console has no accounts, and a public "
        "`DOORBUSTER_HOST` does not open it to other machines",
        page="console.md#people",
    )
    lab_classroom: Switch = setting(
        "LAB_CLASSROOM",
        False,
        "1: students can run only simulations, and only teachers can run live experiments; needs "
        "`DOORBUSTER_LAB_ACCOUNTS=1`",
    )
    lab_student_limits: Limits = setting(
        "LAB_STUDENT_LIMITS",
        "",
        "limits of a student that differ from the defaults",
        example='"runs_per_launch=5000 waiting_launches=10"',
        page="console.md#what-one-person-may-have",
    )
    lab_oidc_issuer: str = setting(
        "LAB_OIDC_ISSUER",
        "",
        "address of the OpenID Connect provider with which people sign in; requires "
        "`DOORBUSTER_LAB_OIDC_CLIENT_ID` and `DOORBUSTER_LAB_OIDC_CLIENT_SECRET`",
        example="https://login.example.edu",
        page=_SIGN_IN,
    )
    lab_oidc_client_id: str = setting(
        "LAB_OIDC_CLIENT_ID", "", "client id that the provider gave you", example="doorbuster"
    )
    lab_oidc_client_secret: str = setting(
        "LAB_OIDC_CLIENT_SECRET", "", "client secret that the provider gave you", secret=True
    )
    lab_oidc_name: str = setting(
        "LAB_OIDC_NAME",
        "",
        "name of the provider on the sign-in button, at most 60 characters",
        shown="the host of the issuer",
        example='"Example University"',
    )
    lab_oidc_teachers: str = setting(
        "LAB_OIDC_TEACHERS",
        "",
        "verified e-mail addresses of teachers, separated by spaces",
        example='"anna@example.edu ben@example.edu"',
    )
    secret_key: shared_settings.SecretKey
    gateway_cookie_key: shared_settings.CookieKey
    results_password: str = setting(
        "RESULTS_PASSWORD",
        "",
        "password of PostgreSQL's role `doorbuster_results`, which may only read results",
        shown=_GENERATED,
        secret=True,
    )
    grafana_admin_password: str = setting(
        "GRAFANA_ADMIN_PASSWORD",
        "",
        "password of Grafana's user `admin`",
        shown=_GENERATED,
        secret=True,
    )
    inner_token: shared_settings.InnerToken
    inner_token_required: shared_settings.InnerTokenRequired
    shop_cpus: shared_settings.ShopCpus
    other_cpus: CpuList = setting(
        "OTHER_CPUS",
        (),
        "CPUs of all parts except the shop",
        shown="all CPUs that are not the shop's (on a machine with one CPU, that CPU)",
        example="0",
    )
    shop_workers: shared_settings.ShopWorkers
    loadgen_workers: Annotated[int, Field(ge=0, le=1000)] = setting(
        "LOADGEN_WORKERS",
        0,
        "number of Locust workers on other machines that simulate the customers of live runs; 0: "
        "this machine simulates the customers",
        page="ansible.md#distributed-runs",
    )
    catalogue_books: shared_settings.CatalogueBooks
    telemetry_endpoint: shared_settings.TelemetryEndpoint
    telemetry_sampled_ratio: shared_settings.TelemetrySampledRatio
    telemetry_viewer: TraceAddress = setting(
        "TELEMETRY_VIEWER",
        "",
        "address of a trace for browsers, with `{trace}` in place of the trace's id; the console "
        "shows links to this address",
        example="http://127.0.0.1:16686/trace/{trace}",
        page="telemetry.md#look-at-a-trace",
    )
    celery_broker: Broker = setting(
        "CELERY_BROKER",
        "",
        "address of the Redis with the queue of tasks between the console and its workers",
        shown="database 1 of the Redis for queues",
        example="redis://:password@head:6379/1",
    )
    grid_broker: Broker | None = setting(
        "GRID_BROKER",
        None,
        "address of the Redis through which `doorbuster simulate --celery` and `doorbuster "
        "worker` exchange tasks and results",
        shown="`DOORBUSTER_CELERY_BROKER`",
        example="redis://:password@head:6379/2",
    )
    build_network: str | None = setting(
        "BUILD_NETWORK",
        None,
        "network in which the engine builds the image; `host` is the machine's network",
        shown="`default`",
        example="host",
        page="docker.md",
    )

    _of_parts: dict[str, str] = PrivateAttr(default_factory=dict)

    @property
    def of_parts(self) -> Mapping[str, str]:
        """The variables of single parts (gateway, shop, ad server); the appliance does not change
        them.
        """
        return self._of_parts

    @property
    def lab_host(self) -> str:
        """The host on which the console listens.

        This is `host` if the console has accounts, or if `host` and `inner_host` are both loopback
        addresses; otherwise, it is `inner_host`.
        """
        inner = hosts.is_loopback(self.host) and hosts.is_loopback(self.inner_host)
        return self.host if self.lab_accounts or inner else self.inner_host

    @property
    def lab_is_hidden(self) -> bool:
        """Whether other machines can reach the shop at `host`, but cannot reach the console there.
        The reason is that a console without accounts listens on the inner host.
        """
        shown = self.lab_host in (self.host, *hosts.EVERYWHERE)
        return not (shown or hosts.is_loopback(self.host))

    @property
    def gateway_pages_host(self) -> str:
        """The host at which the lab and its customers reach the gateway's pages, with or without
        TLS.
        """
        return self.gateway_host or hosts.from_here(self.host)

    @property
    def lab_scheme(self) -> str:
        """The scheme of the console's addresses: https if people log in."""
        return "https" if self.lab_accounts else "http"

    @property
    def lab_url(self) -> str:
        """The console's address on this machine, without a path."""
        return (
            f"{self.lab_scheme}://{hosts.authority(hosts.from_here(self.lab_host), self.lab_port)}"
        )

    @property
    def lab_trust(self) -> Path | None:
        """The file with the console's certificate, or None with plain HTTP."""
        return self.lab_tls_certificate if self.lab_accounts else None

    @property
    def served_names(self) -> tuple[str, ...]:
        """The hosts of gateway and console, for their certificate."""
        lab = (self.lab_host, self.inner_host, *self.lab_names) if self.lab_accounts else ()
        return (self.host, *filter(None, [self.gateway_host]), *lab)

    def creates_certificate(self, *files: Path) -> bool:
        """Return whether this certificate and key are those that the appliance creates."""
        own = certificate_files.of(self.state_dir)
        return files == (own.server, own.key)

    @property
    def gateway_admin_host(self) -> str:
        """The host at which the lab reaches the gateway's admin API."""
        return self.gateway_host or hosts.from_here(self.inner_host)

    @property
    def simulations_broker(self) -> str:
        """The address of the broker between `doorbuster simulate --celery` and its workers."""
        return self.grid_broker or self.celery_broker

    def reached_hosts(self) -> dict[str, str]:
        """Return the configured hosts of the parts, by their variables."""
        return {name: host for name in _REACHED if (host := self.variables().get(name))}

    def environment(self) -> dict[str, str]:
        """Return this process's environment with `variables`, for a child process."""
        return {**os.environ, **self.variables()}

    def variables(self) -> dict[str, str]:
        """Return every setting by its variable, without optional settings that have no value."""
        texts = {self.variable(name): written(getattr(self, name)) for name in VARIABLES.values()}
        return {**self.of_parts, **{name: text for name, text in texts.items() if text}}

    def ports(self) -> dict[str, int]:
        """Return every port by its variable, including those in OPTIONAL_PORTS."""
        return {name: getattr(self, field) for name, field in VARIABLES.items() if "_PORT" in name}


VARIABLES = {Settings.variable(field): field for field in Settings.model_fields}
"""The name of the field for each setting's variable."""


def load(environ: Mapping[str, str] | None = None, repository: Path = FOLDER) -> Settings:
    """Read the settings from `environ` (default: this process's). Raises `SettingsError`, which
    names every fault, if a variable is invalid."""
    settings, faults = load_leniently(environ, repository)
    if faults:
        raise SettingsError("\n".join(faults))
    return settings


def load_leniently(
    environ: Mapping[str, str] | None = None, repository: Path = FOLDER
) -> tuple[Settings, list[str]]:
    """Read the settings as `load` does, but with defaults for invalid variables; also return the
    faults, one line each. Commands that stop and show the appliance use this, because they must
    work with every `.env`.
    """
    environ = os.environ if environ is None else environ
    faults: list[str] = []
    from_file = _env_file(repository / ".env", faults)
    given = {**from_file, **{name: text for name, text in environ.items() if text.strip()}}
    context = {"repository": repository}
    # Some defaults depend on these values. The second call reports their faults.
    first, _ = read_leniently(
        Settings, given, defaults={"state_dir": default_state_dir(repository)}, context=context
    )
    secrets = credentials.Credentials()
    unreadable = []
    try:
        secrets = credentials.read(first.state_dir)
    except ValueError as error:
        unreadable.append(str(error))
    settings, invalid = read_leniently(
        Settings,
        given,
        defaults=_defaults(first, repository, secrets),
        context={**context, "usable_cpus": _usable_cpus(first)},
    )
    settings._of_parts = {
        name: text
        for name, text in given.items()
        if name not in VARIABLES and (name in from_file or name.startswith(_OF_PARTS))
    }
    faults += invalid + unreadable
    required = {name: port for name, port in settings.ports().items() if name not in OPTIONAL_PORTS}
    faults += used_twice(required)
    if settings.lab_classroom and not settings.lab_accounts:
        faults.append(
            "DOORBUSTER_LAB_CLASSROOM=1: a class needs accounts; set DOORBUSTER_LAB_ACCOUNTS=1 too"
        )
    return settings, faults


def _env_file(path: Path, faults: list[str]) -> dict[str, str]:
    """Return the values of all valid lines NAME=value, by variable. Add a message to `faults` for
    each invalid line and for each misspelt variable of the appliance.
    """
    if not path.is_file():
        return {}
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError as error:
        faults.append(
            f"{path} cannot be read ({error.strerror}); fix: chmod u+r {path}, or remove the file"
        )
        return {}
    given: dict[str, str] = {}
    for number, line in enumerate(map(str.strip, lines), start=1):
        if not line or line.startswith("#"):
            continue
        name, equals, text = line.removeprefix("export ").partition("=")
        name = name.strip()
        if not equals or not name.isidentifier():
            faults.append(f"{path} line {number}: {line!r} is not of the form NAME=value")
        elif name not in VARIABLES and (meant := _meant(name)):
            said = f"unknown variable {name}; did you mean {meant[0]}?"
            faults.append(f"{path} line {number}: {said}")
        else:
            given[name] = _unquoted(text.strip())
    return given


def _meant(name: str) -> list[str]:
    # A name without its prefix also counts as a mistake.
    full = PREFIX + name.removeprefix(PREFIX)
    return difflib.get_close_matches(full, VARIABLES, 1, 0.94)


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text.split(" #", 1)[0].strip()


def _defaults(
    first: Settings, repository: Path, secrets: credentials.Credentials
) -> dict[str, object]:
    """Return the defaults that depend on other settings, on this machine or on the state folder."""
    here = hosts.from_here(first.inner_host)
    certificate = certificate_files.of(first.state_dir)
    password = first.redis_password or secrets.redis_password
    return {
        **asdict(secrets),
        "state_dir": default_state_dir(repository),
        "results_dir": repository / "results",
        "gateway_tls_certificate": certificate.server,
        "gateway_tls_key": certificate.key,
        "lab_tls_certificate": certificate.server,
        "lab_tls_key": certificate.key,
        "shop_host": here,
        "ads_host": here,
        "celery_broker": redis_address(first.redis_host, first.broker_port, password) + "/1",
        "inner_token_required": bool(accounts.others()),
        "shop_cpus": cpus.for_shop(),
        "other_cpus": cpus.for_others(first.shop_cpus),
    }


def _usable_cpus(first: Settings) -> dict[str, frozenset[int]]:
    """Return, for each field of CPUs, the CPUs that it may name. If the shop runs on another
    machine, the result has no entry for the shop's CPUs.
    """
    usable = {"shop_cpus": cpus.usable(), "other_cpus": cpus.usable()}
    given, here = first.model_fields_set, hosts.from_here(first.inner_host)
    if "shop_host" in given and first.shop_host != here and not hosts.is_loopback(first.shop_host):
        del usable["shop_cpus"]
    return usable


def redis_address(host: str, port: int, password: str) -> str:
    """Return the address of a Redis, without the database."""
    secret = f":{quote(password, safe='')}@" if password else ""
    return f"redis://{secret}{hosts.authority(host, port)}"


def default_state_dir(repository: Path = FOLDER) -> Path:
    """Return `state/` in the repository or, for root, a folder that PostgreSQL's user can reach.

    For an installed program, return `.doorbuster` in the user's home folder.
    """
    if not IS_CLONE:
        return Path.home() / ".doorbuster"
    if os.geteuid() != 0:
        return repository / "state"
    name = hashlib.sha256(str(repository).encode()).hexdigest()[:12]
    return Path("/var/lib/doorbuster") / name


# Prefixes of the environment's variables for single parts. `.env` may also contain other variables,
# for example COMPOSE_PROJECT_NAME.
_OF_PARTS = tuple(f"DOORBUSTER_{part}_" for part in ("GATEWAY", "SHOP", "ADS"))

OPTIONAL_PORTS = frozenset(
    f"DOORBUSTER_{name}_PORT"
    for name in ("PROMETHEUS", "GRAFANA", "NODE_EXPORTER", "POSTGRES_EXPORTER", "REDIS_EXPORTER")
)
"""The port variables of services that run only if their programs are installed. The code that
starts such a service checks its port.
"""

_REACHED = tuple(
    f"DOORBUSTER_{name}_HOST" for name in ("POSTGRES", "REDIS", "SHOP", "ADS", "GATEWAY")
)


def used_twice(ports: Mapping[str, int]) -> list[str]:
    """Return a line for each port that several variables in `ports` use."""
    by_port: dict[int, list[str]] = {}
    for name, port in ports.items():
        by_port.setdefault(port, []).append(name)
    return [
        f"{' and '.join(names)} have the same port {port}; give each a separate port"
        for port, names in by_port.items()
        if len(names) > 1
    ]
