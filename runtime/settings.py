"""The settings of the appliance: one table of variables, read from three places.

The environment overrides the file `.env` in the repository, which overrides the defaults here; the
generated secrets (`runtime.credentials`) fill what none of them gives.
Owns: names, defaults and checks of the variables. Must not know: who uses them.
"""

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from common import hosts
from runtime import certificate_files, cpus, credentials, env_file, local_users

REPOSITORY = Path(__file__).resolve().parent.parent

T = TypeVar("T")

LEAST_SECRET_CHARACTERS = 16
"""Least length of a chosen secret: some parts answer thousands of guesses a second."""


class SettingsError(ValueError):
    """A setting cannot be used; the message has one line per variable: value, allowed, mend."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What every process of the appliance agrees on; see docs/architecture.md, *Settings*."""

    state_dir: Path
    results_dir: Path
    host: str
    inner_host: str
    gateway_host: str | None
    gateway_port: int
    gateway_tls_port: int
    gateway_tls_certificate: Path
    gateway_tls_key: Path
    gateway_admin_port: int
    shop_host: str
    shop_port: int
    shop_controller_port: int
    postgres_host: str
    postgres_port: int
    postgres_user: str
    postgres_password: str
    postgres_db: str
    postgres_bin: Path | None
    redis_host: str
    redis_port: int
    redis_password: str
    broker_port: int
    redis_bin: Path | None
    ads_host: str
    ads_port: int
    ads_banners: int
    lab_port: int
    lab_tls_certificate: Path
    lab_tls_key: Path
    lab_names: tuple[str, ...]
    lab_hsts_s: int
    prometheus_port: int
    grafana_port: int
    node_exporter_port: int
    postgres_exporter_port: int
    redis_exporter_port: int
    monitoring: bool
    first_look: bool
    lab_accounts: bool
    lab_classroom: bool
    lab_student_limits: str
    secret_key: str
    gateway_cookie_key: str
    results_password: str
    grafana_admin_password: str
    inner_token: str
    inner_token_required: bool
    shop_cpus: tuple[int, ...]
    other_cpus: tuple[int, ...]
    shop_workers: int
    loadgen_workers: int
    catalogue_books: int
    celery_broker: str
    grid_broker: str | None
    # Variables that belong to one part alone; handed on untouched.
    extra: tuple[tuple[str, str], ...] = ()

    @property
    def lab_host(self) -> str:
        """Where the console listens: where customers come only if people have accounts."""
        inner = hosts.is_loopback(self.host) and hosts.is_loopback(self.inner_host)
        return self.host if self.lab_accounts or inner else self.inner_host

    @property
    def lab_is_hidden(self) -> bool:
        """Whether the console, for want of accounts, is not shown where the shop is."""
        shown = self.lab_host in (self.host, *hosts.EVERYWHERE)
        return not (shown or hosts.is_loopback(self.host))

    @property
    def gateway_pages_host(self) -> str:
        """Where the lab and its customers reach the gateway's pages, plain and by TLS."""
        return self.gateway_host or hosts.from_here(self.host)

    @property
    def lab_scheme(self) -> str:
        """How the console is called: by TLS alone if people log in."""
        return "https" if self.lab_accounts else "http"

    @property
    def lab_url(self) -> str:
        """Where this machine reaches the console, without a path."""
        return (
            f"{self.lab_scheme}://{hosts.authority(hosts.from_here(self.lab_host), self.lab_port)}"
        )

    @property
    def lab_trust(self) -> Path | None:
        """The file with the certificate that the console must present; None by plain HTTP."""
        return self.lab_tls_certificate if self.lab_accounts else None

    @property
    def served_names(self) -> tuple[str, ...]:
        """Hosts under which gateway and console listen or are reached: their certificate's."""
        lab = (self.lab_host, self.inner_host, *self.lab_names) if self.lab_accounts else ()
        return (self.host, *filter(None, [self.gateway_host]), *lab)

    @property
    def gateway_admin_host(self) -> str:
        """Where the lab reaches the gateway's admin API."""
        return self.gateway_host or hosts.from_here(self.inner_host)

    @property
    def simulations_broker(self) -> str:
        """Where `doorbuster simulate --celery` and its workers meet."""
        return self.grid_broker or self.celery_broker

    def reached_hosts(self) -> dict[str, str]:
        """The variable of each host where a part is reached and the host, those that are set."""
        read = {name: getattr(self, field) for name, field in _FIELDS.items() if name in _REACHED}
        return {name: host for name, host in read.items() if host}

    def environment(self) -> dict[str, str]:
        """The environment for a child process: this process's own, with every setting spelt out."""
        return {**os.environ, **self.variables()}

    def variables(self) -> dict[str, str]:
        """Every setting as its variable; optional ones that are not set are left out."""
        written = {name: _written(getattr(self, field)) for name, field in _FIELDS.items()}
        return {**dict(self.extra), **{name: text for name, text in written.items() if text}}

    def ports(self) -> dict[str, int]:
        """The variable of each port and the port, those of OPTIONAL_PORTS among them."""
        return {name: getattr(self, field) for name, field in _FIELDS.items() if "_PORT" in name}


def load(environ: Mapping[str, str] | None = None, repository: Path = REPOSITORY) -> Settings:
    """Read the settings; `environ` is the process's own environment unless given.

    Raises `SettingsError` naming every variable that cannot be used and what is allowed.
    """
    settings, faults = load_leniently(environ, repository)
    if faults:
        raise SettingsError("\n".join(faults))
    return settings


def load_leniently(
    environ: Mapping[str, str] | None = None, repository: Path = REPOSITORY
) -> tuple[Settings, list[str]]:
    """As `load`, but a variable that cannot be used has its default; also every fault, a line each.

    For what must work whatever stands in `.env`: to stop the appliance and to look at it.
    """
    environ = os.environ if environ is None else environ
    errors: list[str] = []
    from_file = env_file.read(repository / ".env", _FIELDS, errors)
    given = {**from_file, **{name: text for name, text in environ.items() if text.strip()}}

    def read(name: str, parse: Callable[[str], T], default: T) -> T:
        text = given.get(name, "").strip()
        if not text:
            return default
        try:
            return parse(text)
        except ValueError as error:
            shown = name if name in credentials.VARIABLES else f"{name}={text}"
            errors.append(f"{shown}: {error}")
            return default

    def path(text: str) -> Path:
        try:
            return (repository / Path(text).expanduser()).resolve()
        except (OSError, RuntimeError) as error:  # `~nobody`, a loop of links
            raise ValueError(f"not a path ({error}); allowed is a folder or program") from error

    state_dir = read("DOORBUSTER_STATE_DIR", path, default_state_dir(repository))
    secrets = credentials.Credentials()
    try:
        secrets = credentials.read(state_dir)
    except ValueError as error:
        errors.append(str(error))
    certificate = certificate_files.of(state_dir)
    inner_host = read("DOORBUSTER_INNER_HOST", hosts.listening, hosts.LOOPBACK)
    here = hosts.from_here(inner_host)
    shop_host = read("DOORBUSTER_SHOP_HOST", hosts.reached, here)
    usable = cpus.usable()
    # Of a shop on another machine nobody here knows which it has.
    of_shop = usable if shop_host == here or hosts.is_loopback(shop_host) else None
    shop_cpus = read(
        "DOORBUSTER_SHOP_CPUS", lambda text: cpus.parse(text, of_shop), cpus.for_shop()
    )
    other_cpus = read(
        "DOORBUSTER_OTHER_CPUS", lambda text: cpus.parse(text, usable), cpus.for_others(shop_cpus)
    )
    redis_host = read("DOORBUSTER_REDIS_HOST", hosts.reached, hosts.LOOPBACK)
    redis_port = read("DOORBUSTER_REDIS_PORT", _port, 8085)
    redis_password = read("DOORBUSTER_REDIS_PASSWORD", _secret, secrets.redis_password)
    broker_port = read("DOORBUSTER_BROKER_PORT", _port, 8094)
    settings = Settings(
        state_dir=state_dir,
        results_dir=read("DOORBUSTER_RESULTS_DIR", path, repository / "results"),
        host=read("DOORBUSTER_HOST", hosts.listening, hosts.LOOPBACK),
        inner_host=inner_host,
        gateway_host=read("DOORBUSTER_GATEWAY_HOST", hosts.reached, None),
        gateway_port=read("DOORBUSTER_GATEWAY_PORT", _port, 8080),
        gateway_tls_port=read("DOORBUSTER_GATEWAY_TLS_PORT", _port, 8443),
        gateway_tls_certificate=read(
            "DOORBUSTER_GATEWAY_TLS_CERTIFICATE", path, certificate.server
        ),
        gateway_tls_key=read("DOORBUSTER_GATEWAY_TLS_KEY", path, certificate.key),
        gateway_admin_port=read("DOORBUSTER_GATEWAY_ADMIN_PORT", _port, 8081),
        shop_host=shop_host,
        shop_port=read("DOORBUSTER_SHOP_PORT", _port, 8082),
        shop_controller_port=read("DOORBUSTER_SHOP_CONTROLLER_PORT", _port, 8083),
        postgres_host=read("DOORBUSTER_POSTGRES_HOST", hosts.reached, hosts.LOOPBACK),
        postgres_port=read("DOORBUSTER_POSTGRES_PORT", _port, 8084),
        postgres_user=read("DOORBUSTER_POSTGRES_USER", str, "doorbuster"),
        postgres_password=read("DOORBUSTER_POSTGRES_PASSWORD", str, secrets.postgres_password),
        postgres_db=read("DOORBUSTER_POSTGRES_DB", str, "doorbuster"),
        postgres_bin=read("DOORBUSTER_POSTGRES_BIN", path, None),
        redis_host=redis_host,
        redis_port=redis_port,
        redis_password=redis_password,
        broker_port=broker_port,
        redis_bin=read("DOORBUSTER_REDIS_BIN", path, None),
        ads_host=read("DOORBUSTER_ADS_HOST", hosts.reached, here),
        ads_port=read("DOORBUSTER_ADS_PORT", _port, 8086),
        ads_banners=read("DOORBUSTER_ADS_BANNERS", _banners, 6000),
        lab_port=read("DOORBUSTER_LAB_PORT", _port, 8087),
        lab_tls_certificate=read("DOORBUSTER_LAB_TLS_CERTIFICATE", path, certificate.server),
        lab_tls_key=read("DOORBUSTER_LAB_TLS_KEY", path, certificate.key),
        lab_names=read("DOORBUSTER_LAB_NAMES", _names, ()),
        lab_hsts_s=read("DOORBUSTER_LAB_HSTS_S", _hsts_s, 86_400),
        prometheus_port=read("DOORBUSTER_PROMETHEUS_PORT", _port, 8088),
        grafana_port=read("DOORBUSTER_GRAFANA_PORT", _port, 8089),
        node_exporter_port=read("DOORBUSTER_NODE_EXPORTER_PORT", _port, 8091),
        postgres_exporter_port=read("DOORBUSTER_POSTGRES_EXPORTER_PORT", _port, 8092),
        redis_exporter_port=read("DOORBUSTER_REDIS_EXPORTER_PORT", _port, 8093),
        monitoring=read("DOORBUSTER_MONITORING", _switch, True),
        first_look=read("DOORBUSTER_FIRST_LOOK", _switch, True),
        lab_accounts=read("DOORBUSTER_LAB_ACCOUNTS", _switch, False),
        lab_classroom=read("DOORBUSTER_LAB_CLASSROOM", _switch, False),
        lab_student_limits=read("DOORBUSTER_LAB_STUDENT_LIMITS", _limits, ""),
        secret_key=read("DOORBUSTER_SECRET_KEY", str, secrets.secret_key),
        gateway_cookie_key=read("DOORBUSTER_GATEWAY_COOKIE_KEY", str, secrets.gateway_cookie_key),
        results_password=read("DOORBUSTER_RESULTS_PASSWORD", str, secrets.results_password),
        grafana_admin_password=read(
            "DOORBUSTER_GRAFANA_ADMIN_PASSWORD", str, secrets.grafana_admin_password
        ),
        inner_token=read("DOORBUSTER_INNER_TOKEN", _secret, secrets.inner_token),
        inner_token_required=read(
            "DOORBUSTER_INNER_TOKEN_REQUIRED", _switch, bool(local_users.others())
        ),
        shop_cpus=shop_cpus,
        other_cpus=other_cpus,
        shop_workers=read("DOORBUSTER_SHOP_WORKERS", _workers, 30),
        loadgen_workers=read("DOORBUSTER_LOADGEN_WORKERS", _load_generators, 0),
        catalogue_books=read("DOORBUSTER_CATALOGUE_BOOKS", _books, 4309),
        celery_broker=read(
            "DOORBUSTER_CELERY_BROKER",
            _broker,
            redis_address(redis_host, broker_port, redis_password) + "/1",
        ),
        grid_broker=read("DOORBUSTER_GRID_BROKER", _broker, None),
        extra=tuple(
            (name, text)
            for name, text in given.items()
            if name not in _FIELDS and (name in from_file or name.startswith(_OF_PARTS))
        ),
    )
    required = {name: port for name, port in settings.ports().items() if name not in OPTIONAL_PORTS}
    errors += used_twice(required)
    if settings.lab_classroom and not settings.lab_accounts:
        errors.append(
            "DOORBUSTER_LAB_CLASSROOM=1: without accounts nobody is a student; "
            "set DOORBUSTER_LAB_ACCOUNTS=1 too"
        )
    return settings, errors


def redis_address(host: str, port: int, password: str) -> str:
    """Of a Redis, but for the database."""
    secret = f":{quote(password, safe='')}@" if password else ""
    return f"redis://{secret}{hosts.authority(host, port)}"


def default_state_dir(repository: Path = REPOSITORY) -> Path:
    """`state/` in the repository; for root a folder that PostgreSQL's own user can reach."""
    if os.geteuid() != 0:
        return repository / "state"
    name = hashlib.sha256(str(repository).encode()).hexdigest()[:12]
    return Path("/var/lib/doorbuster") / name


# Of the environment; `.env` may have others of anybody's, COMPOSE_PROJECT_NAME say.
_OF_PARTS = tuple(
    f"DOORBUSTER_{part}_" for part in ("GATEWAY", "SHOP", "ADS", "CATALOGUE", "LAB", "LOADGEN")
)

_FIELDS = {
    "DOORBUSTER_" + name: name.lower()
    for name in (
        "STATE_DIR",
        "RESULTS_DIR",
        "HOST",
        "INNER_HOST",
        "GATEWAY_HOST",
        "GATEWAY_PORT",
        "GATEWAY_TLS_PORT",
        "GATEWAY_TLS_CERTIFICATE",
        "GATEWAY_TLS_KEY",
        "GATEWAY_ADMIN_PORT",
        "SHOP_HOST",
        "SHOP_PORT",
        "SHOP_CONTROLLER_PORT",
        "POSTGRES_HOST",
        "POSTGRES_PORT",
        "POSTGRES_USER",
        "POSTGRES_PASSWORD",
        "POSTGRES_DB",
        "POSTGRES_BIN",
        "REDIS_HOST",
        "REDIS_PORT",
        "REDIS_PASSWORD",
        "REDIS_BIN",
        "BROKER_PORT",
        "ADS_HOST",
        "ADS_PORT",
        "ADS_BANNERS",
        "LAB_PORT",
        "LAB_TLS_CERTIFICATE",
        "LAB_TLS_KEY",
        "LAB_NAMES",
        "LAB_HSTS_S",
        "PROMETHEUS_PORT",
        "GRAFANA_PORT",
        "NODE_EXPORTER_PORT",
        "POSTGRES_EXPORTER_PORT",
        "REDIS_EXPORTER_PORT",
        "MONITORING",
        "FIRST_LOOK",
        "LAB_ACCOUNTS",
        "LAB_CLASSROOM",
        "LAB_STUDENT_LIMITS",
        "SECRET_KEY",
        "GATEWAY_COOKIE_KEY",
        "RESULTS_PASSWORD",
        "GRAFANA_ADMIN_PASSWORD",
        "INNER_TOKEN",
        "INNER_TOKEN_REQUIRED",
        "SHOP_CPUS",
        "OTHER_CPUS",
        "SHOP_WORKERS",
        "LOADGEN_WORKERS",
        "CATALOGUE_BOOKS",
        "CELERY_BROKER",
        "GRID_BROKER",
    )
}


OPTIONAL_PORTS = frozenset(
    f"DOORBUSTER_{name}_PORT"
    for name in (
        "PROMETHEUS",
        "GRAFANA",
        "NODE_EXPORTER",
        "POSTGRES_EXPORTER",
        "REDIS_EXPORTER",
    )
)
"""Ports of services that run only where their programs are; whoever starts one checks its port."""

_REACHED = frozenset(
    f"DOORBUSTER_{name}_HOST" for name in ("POSTGRES", "REDIS", "SHOP", "ADS", "GATEWAY")
)


def _written(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _whole(what: str, least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
            raise ValueError(f"not {what}; allowed is a whole number from {least} to {most}")
        return int(text)

    return parse


_port = _whole("a port", 1, 65535)
_load_generators = _whole("a number of load generators", 0, 1000)
_workers = _whole("a number of workers", 1, 100)
_books = _whole("a number of books", 1_000, 500_000)  # as shop/catalogue/books.py has them
_banners = _whole("a number of banners", 0, 2_000_000)  # as shop/ads/configuration.py has them
_hsts_s = _whole("a duration in seconds", 0, 2 * 31_536_000)


def _names(text: str) -> tuple[str, ...]:
    return tuple(hosts.reached(each.strip()) for each in text.split(","))


def _secret(text: str) -> str:
    if len(text) < LEAST_SECRET_CHARACTERS or not text.isascii() or not text.isprintable():
        raise ValueError(
            f"too weak; allowed are {LEAST_SECRET_CHARACTERS} printable ASCII characters or more; "
            "fix: remove it, and `make up` generates one"
        )
    return text


def _switch(text: str) -> bool:
    if text not in ("0", "1"):
        raise ValueError("neither on nor off; allowed is 1 or 0")
    return text == "1"


def _limits(text: str) -> str:
    """Names and values; `lab.console.site.allowances` knows the names."""
    if not all(re.fullmatch(r"[a-z_]+=[0-9]+", word) for word in text.replace(",", " ").split()):
        raise ValueError(
            "not a list of limits; allowed is name=number with spaces between, "
            "e.g. runs_per_launch=5000 (docs/console.md, *What one person may have*)"
        )
    return text


def _broker(text: str) -> str:
    if not text.startswith(("redis://", "rediss://")):
        raise ValueError("not a broker; allowed is redis://host:port/database")
    return text


def used_twice(ports: Mapping[str, int]) -> list[str]:
    """A line for each port that several variables of `ports` name."""
    by_port: dict[int, list[str]] = {}
    for name, port in ports.items():
        by_port.setdefault(port, []).append(name)
    return [
        f"{' and '.join(names)} are both {port}; give each a port of its own"
        for port, names in by_port.items()
        if len(names) > 1
    ]
