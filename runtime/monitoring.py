"""The configuration, targets and installed programs of Prometheus and its exporters."""

import contextlib
import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import hosts, private_file, processes
from runtime.settings import REPOSITORY, Settings

SOURCE = REPOSITORY / "dashboards" / "prometheus"
RETENTION = ("15d", "2GB")
PROMETHEUS = "prometheus"
EXPORTERS = ("node", "postgres", "redis")
"""The Prometheus jobs of the exporters."""

_OWNER = ".owner"
Group = dict[str, Any]
"""A group of targets in a file that Prometheus reads: `targets` (host:port) and `labels`."""


@dataclass(frozen=True, slots=True)
class Program:
    """An installed program, named like its Debian package."""

    path: Path
    version: str


def package(job: str) -> str:
    """Return the name that a job's program and its Debian package share."""
    return job if job == PROMETHEUS else f"prometheus-{job}-exporter"


def find(job: str) -> Program | None:
    """Return a job's program, or None if it is not installed."""
    path = shutil.which(package(job))
    if path is None:
        return None
    try:
        asked = subprocess.run(
            [path, "--version"], capture_output=True, text=True, check=False, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    # "prometheus, version 2.42.0+ds (…", "… msg="Redis Metrics Exporter 1.45.0-2 …"
    found = re.search(r"\b\d+\.\d+\.\d+", asked.stdout + asked.stderr)
    return Program(Path(path), found.group() if found else "of some version")


def missing() -> list[str]:
    """Return the Debian packages that monitoring still lacks."""
    return [package(job) for job in (PROMETHEUS, *EXPORTERS) if find(job) is None]


# ---- configuration and targets -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ScrapeHosts:
    """The hosts at which Prometheus reaches the parts of the appliance."""

    gateway: str
    shop: str
    ads: str
    lab: str
    exporters: Mapping[str, str]
    """The host of each job whose exporter runs: node, postgres, redis or prometheus."""


COMPOSE = ScrapeHosts(
    gateway="gateway",
    shop="shop",
    ads="ads",
    lab="lab",
    exporters={
        "node": "node-exporter",
        "postgres": "postgres-exporter",
        "redis": "redis-exporter",
        PROMETHEUS: "prometheus",
    },
)
"""The hosts of all parts in containers: the services of docker-compose.yml."""


def native(settings: Settings, jobs: Sequence[str]) -> ScrapeHosts:
    """Return the hosts of the parts on this machine; `jobs` are the running exporters."""
    here = hosts.from_here(settings.inner_host)
    return ScrapeHosts(
        gateway=settings.gateway_admin_host,
        shop=settings.shop_host,
        ads=settings.ads_host,
        lab=hosts.from_here(settings.lab_host),
        exporters=dict.fromkeys(jobs, here),
    )


def targets(settings: Settings, scrape_hosts: ScrapeHosts) -> list[Group]:
    """Return the appliance's targets, in groups for a file that Prometheus reads."""
    ports = {
        "node": settings.node_exporter_port,
        "postgres": settings.postgres_exporter_port,
        "redis": settings.redis_exporter_port,
        PROMETHEUS: settings.prometheus_port,
    }
    return [
        group("gateway", (scrape_hosts.gateway, settings.gateway_admin_port), application="shop"),
        group("shop", (scrape_hosts.shop, settings.shop_controller_port), application="shop"),
        group("ads", (scrape_hosts.ads, settings.ads_port)),
        group("lab", (scrape_hosts.lab, settings.lab_port), **_scheme(settings)),
        *(group(job, (host, ports[job])) for job, host in scrape_hosts.exporters.items()),
    ]


def _scheme(settings: Settings) -> dict[str, str]:
    return {"__scheme__": settings.lab_scheme} if settings.lab_accounts else {}


@dataclass(frozen=True, slots=True)
class Trust:
    """The console's certificate, which Prometheus must trust, and a name for which it is valid."""

    certificate: bytes
    name: str


def trust(settings: Settings) -> Trust | None:
    """Return the certificate to trust for a console with accounts; None if it serves plain HTTP.
    Raises OSError if the certificate cannot be read.
    """
    if settings.lab_trust is None:
        return None
    from runtime import certificates  # takes a while

    names = certificates.names_in(settings.lab_trust)
    name = "localhost" if "localhost" in names else names[0].replace("*", "console")
    return Trust(settings.lab_trust.read_bytes(), name)


def group(job: str, *addresses: tuple[str, int], **labels: str) -> Group:
    """Return a group of targets, each given as (host, port)."""
    found = [hosts.authority(host, port) for host, port in addresses]
    return {"targets": found, "labels": {"job": job, **labels}}


def write_targets(path: Path, groups: Sequence[Group]) -> None:
    """Write the file of targets in one piece; Prometheus reads it within ten seconds."""
    private_file.write(path, (json.dumps(groups, indent=2) + "\n").encode(), 0o644)


def configure(
    folder: Path, name: str, groups: Sequence[Group], console: Trust | None = None
) -> None:
    """Write the configuration and rules to `folder`, and replace all files of targets by
    `targets/<name>.json`, which has these targets.

    With `console`, Prometheus scrapes the console over TLS.

    Every user may read the files, because Prometheus runs as `nobody` in containers; the files
    contain no secret.
    """
    for kind in ("rules", "targets"):
        shutil.rmtree(folder / kind, ignore_errors=True)
        (folder / kind).mkdir(parents=True)
        (folder / kind).chmod(0o755)
    folder.chmod(0o755)
    for source in (SOURCE / "prometheus.yml", *sorted((SOURCE / "rules").glob("*.yml"))):
        copy = folder / source.relative_to(SOURCE)
        shutil.copyfile(source, copy)
        copy.chmod(0o644)
    if console is not None:
        trusted = folder / "console.pem"
        trusted.write_bytes(console.certificate)
        trusted.chmod(0o644)
        path = folder / "prometheus.yml"
        text = path.read_text(encoding="utf-8")
        by_tls = text.replace("# tls_config:", "tls_config:").replace(
            "server_name: localhost", f"server_name: {console.name}"
        )
        path.write_text(by_tls, encoding="utf-8")
    write_targets(folder / "targets" / f"{name}.json", groups)


def folder_of(state_dir: Path) -> Path:
    """Return Prometheus' folder with configuration, rules, targets and data."""
    return state_dir / "prometheus"


def scrapes_loopback(settings: Settings) -> bool:
    """Return whether Prometheus can scrape this machine's loopback address; from a container or
    another machine, it cannot.
    """
    there = (folder_of(settings.state_dir) / "targets").is_dir()
    return there and settings.inner_host not in hosts.EVERYWHERE


@contextlib.contextmanager
def also_scraped(settings: Settings, name: str, groups: Sequence[Group]) -> Iterator[None]:
    """Let a running Prometheus also scrape these loopback targets during the block.

    `name` is the name of the file of targets. A second file next to it names the process that owns
    the targets; `forget_dead` reads this second file.
    """
    if not scrapes_loopback(settings):
        yield
        return
    path = folder_of(settings.state_dir) / "targets" / f"{name}.json"
    forget_dead(settings.state_dir)
    owner = path.with_suffix(_OWNER)
    owner.write_text(processes.note_of(), encoding="utf-8")
    write_targets(path, groups)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        owner.unlink(missing_ok=True)


def forget_dead(state_dir: Path) -> None:
    """Remove the targets of killed processes."""
    for owner in (folder_of(state_dir) / "targets").glob(f"*{_OWNER}"):
        with contextlib.suppress(OSError, ValueError):  # just removed, or not yet written
            if not processes.is_alive(owner.read_text(encoding="utf-8")):
                owner.with_suffix(".json").unlink(missing_ok=True)
                owner.unlink(missing_ok=True)


def application_targets(name: str, admin_port: int, controller_ports: Sequence[int]) -> list[Group]:
    """Return the targets of another application (gateway and shops) on the loopback address."""
    shops = [(hosts.LOOPBACK, port) for port in controller_ports]
    return [
        group("gateway", (hosts.LOOPBACK, admin_port), application=name),
        group("shop", *shops, application=name),
    ]


# ---- command lines -------------------------------------------------------------------------------


def prometheus(program: Program, settings: Settings) -> list[str]:
    """Return Prometheus' command line; SIGTERM ends the process."""
    folder = folder_of(settings.state_dir)
    time, size = RETENTION
    return [
        str(program.path),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--storage.tsdb.retention.time={time}",
        f"--storage.tsdb.retention.size={size}",
        f"--web.listen-address={hosts.authority(settings.inner_host, settings.prometheus_port)}",
        "--web.cors.origin=none",  # by default, any web page in a browser may query it
        "--log.level=warn",
    ]


def exporter(job: str, program: Program, settings: Settings) -> list[str]:
    """Return an exporter's command line; SIGTERM ends the process. PostgreSQL's exporter reads the
    file that `prepare_postgres` writes.
    """
    port = settings.ports()[f"DOORBUSTER_{job.upper()}_EXPORTER_PORT"]
    listens = f"--web.listen-address={hosts.authority(settings.inner_host, port)}"
    if job == "redis":
        store = hosts.authority(settings.redis_host, settings.redis_port)
        address = f"--redis.addr=redis://{store}"
        # The password is not an argument, because other users can see command lines.
        script = 'REDIS_PASSWORD="$DOORBUSTER_REDIS_PASSWORD" exec "$@"'
        return ["sh", "-c", script, "sh", str(program.path), listens, address]
    if job == "postgres":
        # The password is in a file for the same reason.
        database = hosts.authority(settings.postgres_host, settings.postgres_port)
        return [
            "env",
            f"DATA_SOURCE_URI={database}/{settings.postgres_db}?sslmode=disable",
            f"DATA_SOURCE_USER={settings.postgres_user}",
            f"DATA_SOURCE_PASS_FILE={_password_file(settings)}",
            str(program.path),
            listens,
        ]
    return [str(program.path), listens]


def prepare_postgres(settings: Settings) -> None:
    path = _password_file(settings)
    path.parent.mkdir(parents=True, exist_ok=True)
    private_file.write(path, settings.postgres_password.encode())


def _password_file(settings: Settings) -> Path:
    return folder_of(settings.state_dir) / "postgres-password"
