"""The command `make doctor`, which checks this machine and the appliance and prints one finding per
line, with the fix for each fault.
"""

import os
import platform
import resource
import shutil
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, Self

import psutil
from rich.markup import escape

from common import cpus, hosts
from runtime import accounts, certificate_files, choice, monitoring
from runtime.accounts import Account
from runtime.compose import appliance, certificate, engine
from runtime.compose.settings import Project
from runtime.native import postgres, redis_server, services, up
from runtime.native.services import watchers
from runtime.native.supervision import Supervisor, SupervisorError, left_over
from runtime.progress import Progress
from runtime.settings import REPOSITORY, Settings, SettingsError, load
from runtime.state import LEAST_DISK_BYTES, NO_LOCKS, State, said

GOOD_DISK_BYTES = 2 * 1024**3
LEAST_MEMORY_BYTES = 1024**3
GOOD_MEMORY_BYTES = 2 * 1024**3
LEAST_OPEN_FILES = 1024
GOOD_OPEN_FILES = 4096
SHARED_MEMORY = Path("/dev/shm")
GATEWAY = "DOORBUSTER_GATEWAY_TLS"
_MOST_NAMED = 5
OPTIONAL_PROGRAMS = {
    "chromium": "make test-browser",
    "httperf": "replaying a session file",
    "wrk": "benchmarks",
    "ab": "a test of the gateway",
    "nginx": "benchmarks and baseline proxies",
    "haproxy": "benchmarks and baseline proxies",
}


class Verdict(StrEnum):
    """The possible results of a check."""

    GOOD = "[green]✓[/]"
    BEWARE = "[yellow]![/]"
    BAD = "[red]✗[/]"


GOOD, BEWARE, BAD = Verdict


class Finding(NamedTuple):
    """A line of the report: the subject of a check, its result, and the fix for a fault."""

    verdict: Verdict
    subject: str
    found: str
    fix: str = ""

    @classmethod
    def of(cls, verdict: Verdict, subject: str, words: object) -> Self:
        """Return the finding for an error's text, which may end with a fix, as in `; fix: …`."""
        found, _, fix = str(words).partition("; fix: ")
        return cls(verdict, subject, found, fix)


def doctor(progress: Progress) -> int:
    """Print all findings. The exit code is 1 if a fault keeps the appliance from running."""
    bad = 0
    for finding in examine():
        bad += finding.verdict is BAD
        line = f"  {finding.verdict} {finding.subject:<18} {escape(finding.found)}"
        progress.console.print(line)
        if finding.fix:
            progress.console.print(f"      [dim]fix:[/] {escape(finding.fix)}")
    if bad:
        progress.failure(
            f"{bad} of these faults keep{'s' if bad == 1 else ''} Doorbuster from running."
        )
    return 1 if bad else 0


def as_json() -> dict[str, Any]:
    """Return whether the appliance can run, and all findings with verdicts in lower case."""
    found = list(examine())
    return {
        "runs": all(one.verdict is not BAD for one in found),
        "findings": [one._asdict() | {"verdict": one.verdict.name.lower()} for one in found],
    }


def examine() -> Iterator[Finding]:
    """Yield all findings about this machine."""
    try:
        yield from _examine()
    except OSError as error:
        yield Finding(
            BAD,
            "This machine",
            said(error),
            "make the file readable, or end the process that locks it",
        )


def _examine() -> Iterator[Finding]:
    yield _python()
    yield _environment()
    try:
        settings = load()
    except SettingsError as error:
        for line in str(error).splitlines():
            yield Finding(BAD, "Settings", line, "change it in the environment or in .env")
        return
    state = State(settings.state_dir)
    yield Finding(GOOD, "Settings", _where_settings_come_from())
    yield _state_folder(state)
    yield file_modes(settings, state)
    yield _disk(state)
    yield _memory()
    yield _open_files()
    yield from _cpus(settings)
    yield _load()
    yield from _certificates(settings)
    yield _inner_host(settings)
    runtime, findings = chosen_runtime(settings)
    yield from findings
    if runtime == "docker":
        yield from containers(settings)
    elif runtime == "native":
        yield _postgres(settings, state)
        yield _redis(settings, state)
        yield from running(settings, state)
        yield _monitoring(settings)
    yield from _optional()


def _python() -> Finding:
    # runtime/bootstrap.sh has already refused older versions of Python.
    return Finding(GOOD, "Python", f"{platform.python_version()} ({sys.executable})")


def _environment() -> Finding:
    inside = Path(sys.prefix) == REPOSITORY / ".venv"
    if not inside:
        fix = "run `make doctor`, which uses the Python of .venv"
        return Finding(BEWARE, "Environment", sys.prefix, fix)
    return Finding(GOOD, "Environment", f"{sys.prefix}, as uv.lock requires")


def _where_settings_come_from() -> str:
    named = sorted(name for name in os.environ if name.startswith("DOORBUSTER_"))
    parts = ["defaults"]
    parts += [str(REPOSITORY / ".env")] if (REPOSITORY / ".env").exists() else []
    parts += [f"environment ({', '.join(named)})"] if named else []
    return " + ".join(parts)


def _state_folder(state: State) -> Finding:
    fix = "set DOORBUSTER_STATE_DIR (environment or .env) to a folder that you own"
    folder = _existing(state.folder)
    if state.is_somebodys:
        found = f"{state.folder} already contains other files"
        return Finding(BAD, "State folder", found, f"{fix}, or remove it")
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        found = f"{folder} is on a disk that is mounted read-only"
        return Finding(BAD, "State folder", found, f"mount it writable, or {fix}")
    if not os.access(folder, os.W_OK | os.X_OK):
        return Finding(BAD, "State folder", f"{folder} cannot be written", fix)
    if not state.has_locks:
        return Finding.of(BAD, "State folder", f"{state.folder} {NO_LOCKS}")
    return Finding(GOOD, "State folder", str(state.folder))


def file_modes(settings: Settings, state: State) -> Finding:
    try:
        found = state.open_to_others(settings.results_dir) if state.is_ours else []
    except OSError as error:
        return Finding(BEWARE, "File modes", f"{error.filename}: {error.strerror}")
    if not found:
        return Finding(GOOD, "File modes", "closed to other users")
    named = ", ".join(str(path) for path in found[:3])
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    said = f"other users of this machine can reach {named}{more}"
    return Finding(BEWARE, "File modes", said, "make up closes these paths to other users")


def _disk(state: State) -> Finding:
    free = shutil.disk_usage(_existing(state.folder)).free
    found = f"{_gigabytes(free)} free on the disk of the state folder"
    fix = "free some space, or set DOORBUSTER_STATE_DIR to a folder on another disk"
    needs = "a long comparison needs 2 GB"
    return _amount("Disk", found, free, LEAST_DISK_BYTES, GOOD_DISK_BYTES, needs, fix)


def _memory() -> Finding:
    available = psutil.virtual_memory().available
    found = f"{_gigabytes(available)} available"
    needs = "the appliance needs 1 GB, and comparisons need 2 GB"
    fix = "end other programs"
    return _amount("Memory", found, available, LEAST_MEMORY_BYTES, GOOD_MEMORY_BYTES, needs, fix)


def _open_files() -> Finding:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    unlimited = hard == resource.RLIM_INFINITY
    found = "unlimited" if unlimited else f"at most {hard}"
    count = GOOD_OPEN_FILES if unlimited else hard
    fix = "raise `nofile` in /etc/security/limits.conf"
    needs = "many customers need 4096"
    return _amount("Open files", found, count, LEAST_OPEN_FILES, GOOD_OPEN_FILES, needs, fix)


def _amount(
    subject: str, found: str, value: int, least: int, good: int, needs: str, fix: str
) -> Finding:
    """Return the finding for an amount: bad below `least`, and a warning below `good`."""
    if value >= good:
        return Finding(GOOD, subject, found)
    return Finding(BAD if value < least else BEWARE, subject, f"{found}; {needs}", fix)


def _cpus(settings: Settings) -> Iterator[Finding]:
    shared = set(settings.shop_cpus) & set(settings.other_cpus)
    found = (
        f"shop {cpus.written(settings.shop_cpus)}, everything else "
        f"{cpus.written(settings.other_cpus)} (of {cpus.written(cpus.usable())})"
    )
    if shared:
        fix = "give DOORBUSTER_SHOP_CPUS a CPU that nothing else uses; this needs at least 2 CPUs"
        yield Finding(BEWARE, "CPUs", f"{found}: shared, so measurements will be distorted", fix)
    else:
        yield Finding(GOOD, "CPUs", found)


def _load() -> Finding:
    if busy := up.busy_machine():
        return Finding(BEWARE, "Load", busy, "end other programs before a measurement")
    return Finding(GOOD, "Load", f"{os.getloadavg()[0]:.1f} active processes (mean of a minute)")


def _postgres(settings: Settings, state: State) -> Finding:
    try:
        run_as = accounts.for_database(state.postgres / "data")
        needed = postgres.cluster_major(state.postgres) if _readable(state.postgres) else None
        installation = postgres.find(settings.postgres_bin, state.postgres, _copying(run_as, state))
    except (LookupError, postgres.PostgresError) as error:
        return Finding.of(BAD, "PostgreSQL", error)
    if fault := shared_memory_fault(SHARED_MEMORY, run_as):
        return Finding.of(BAD, "PostgreSQL", fault)
    runs_as = f", runs as {run_as.name}" if run_as else ""
    made = f", database created by {needed}" if needed else ""
    if _readable(state.postgres) and (named := postgres.stale_lock(state.postgres)):
        lock = state.postgres / "data" / postgres.LOCK_FILE
        left = (
            f"{lock} is left from a killed server or a power failure; it names {named} instead of "
            f"a server of this database"
        )
        return Finding(BEWARE, "PostgreSQL", left, "make up removes this file")
    found = f"{installation.version}, {installation.origin}, {installation.bin_dir}{runs_as}{made}"
    return Finding(GOOD, "PostgreSQL", found)


def shared_memory_fault(folder: Path, run_as: Account | None) -> str:
    """Return why PostgreSQL cannot create its shared memory in `folder`, with the fix; empty if it
    can. With `run_as`, PostgreSQL runs as this account.
    """
    if run_as is None:
        can_write = os.access(folder, os.W_OK | os.X_OK)
    else:
        found = folder.stat() if folder.is_dir() else None
        can_write = found is not None and (
            found.st_mode & 0o003 == 0o003 or found.st_uid == run_as.uid
        )
    if can_write:
        return ""
    name = "this user" if run_as is None else f"the user {run_as.name}"
    mount = f"mount -t tmpfs -o mode=1777 tmpfs {folder}"
    return (
        f"{name} cannot write to {folder}, where PostgreSQL creates its shared memory; "
        f"fix: `{mount}` as root"
    )


def _copying(run_as: Account | None, state: State) -> Account | None:
    """Return the account for which programs would be copied; None if there is no state folder."""
    return run_as if state.is_ours else None


def _redis(settings: Settings, state: State) -> Finding:
    try:
        run_as = accounts.for_database()
        installation = redis_server.find(settings.redis_bin, state.redis, _copying(run_as, state))
    except (LookupError, redis_server.RedisError) as error:
        return Finding.of(BAD, "Redis", error)
    runs_as = f", runs as {run_as.name}" if run_as else ""
    found = f"{installation.version}, {installation.origin}, {installation.program}{runs_as}"
    return Finding(GOOD, "Redis", found)


def _certificates(settings: Settings) -> Iterator[Finding]:
    for pair in certificate.pairs(settings):
        title = "Certificate" if pair.setting == GATEWAY else "Console's TLS"
        if pair.setting == GATEWAY or not pair.is_own:
            yield _certificate(settings, title, pair)


def _certificate(settings: Settings, title: str, pair: certificate.Pair) -> Finding:
    from runtime import certificates  # takes a while

    own = certificate_files.of(settings.state_dir)
    path = pair.certificate
    if path != own.server:
        if _existing(path) == path and pair.key.exists():
            if why := certificates.out_of_date(path):
                fix = "replace the certificate and its key, then make down and make up"
                return Finding(BEWARE, title, f"{path}, your own certificate: {why}", fix)
            return Finding(GOOD, title, f"{path}, your own certificate")
        variables = f"{pair.setting}_CERTIFICATE and {pair.setting}_KEY"
        fix = f"set {variables} to files that exist, or set neither"
        return Finding(BAD, title, f"{path} or its key does not exist", fix)
    if not own.server.exists():
        return Finding(GOOD, title, "none yet; `make up` creates it")
    if why := certificates.unusable(own, certificates.own_names(*settings.served_names)):
        fix = "make down, then make up, which creates a new certificate"
        return Finding(BEWARE, title, why, fix)
    good_for = f"{certificates.key_name(own)}, until {certificates.valid_until(own)}"
    found = f"{good_for}, authority {own.authority}"
    return Finding(GOOD, title, found)


def _inner_host(settings: Settings) -> Finding:
    subject, people = "Inner host", accounts.others()
    named = ", ".join(people[:_MOST_NAMED]) + (" …" if len(people) > _MOST_NAMED else "")
    where = f"admin API and controller on {settings.inner_host}"
    if settings.inner_token_required:
        why = f"other people have accounts here: {named}" if people else "required"
        return Finding(GOOD, subject, f"{where} need a token ({why})")
    if people:
        fix = "set DOORBUSTER_INNER_TOKEN_REQUIRED=1 (environment or .env), then make up"
        found = f"{where} accept calls of other people with accounts on this machine: {named}"
        return Finding(BEWARE, subject, found, fix)
    found = f"{where} need no token, because no other person has an account here"
    if not hosts.is_loopback(settings.inner_host):
        fix = (
            "set DOORBUSTER_INNER_TOKEN_REQUIRED=1, unless only the lab's machines can reach "
            "this address"
        )
        found = f"{where} need no token, although other machines can reach them"
        return Finding(BEWARE, subject, found, fix)
    return Finding(GOOD, subject, found)


def running(settings: Settings, state: State) -> Iterator[Finding]:
    """Yield a finding for each service or, if none runs, findings on what a start needs."""
    supervisor = Supervisor(state)
    if not supervisor.is_running():
        if rest := left_over(state):
            pids = ", ".join(str(process.pid) for process in rest)
            fix = (
                "make up ends these processes and starts everything again; make down only ends them"
            )
            found = f"processes of an earlier start still run: {pids}"
            yield Finding(BEWARE, "Running", found, fix)
        elif supervisor.has_died():
            found = "no: the supervisor was killed or the machine went down, and the services ended"
            yield Finding(BEWARE, "Running", found, "make up starts everything again")
        else:
            yield Finding(GOOD, "Running", "no; `make up` starts it")
            for line in up.unknown_hosts(settings):
                yield Finding.of(BAD, "Hosts", line)
            wanted = up.ports_of(settings, watchers(settings))
            yield from _ports(settings, wanted)
        return
    try:
        states = supervisor.states()
        for service in services.table(settings, state):
            now = states.get(service.name)
            fault = BEWARE if service.is_optional else BAD
            if now is None:  # the supervisor knows only the services of its start
                found = "does not run: it was installed or turned on after the start"
                fix = "make up, which starts it and restarts all other services"
                yield Finding(fault, service.title, found, fix)
            elif why := (service.refusal() if now.runs else now.state.lower()):
                fix = f"make logs ARGS={service.name}; make up restarts it"
                yield Finding(fault, service.title, why, fix)
            else:
                where = f" on port {service.port}" if service.port is not None else ""
                found = f"healthy{where}, CPUs {cpus.written(service.cpus)}"
                yield Finding(GOOD, service.title, found)
    except (LookupError, SupervisorError, postgres.PostgresError, redis_server.RedisError) as error:
        yield Finding.of(BAD, "Running", error)


def chosen_runtime(settings: Settings) -> tuple[choice.Runtime | None, list[Finding]]:
    """Return the runtime that `make up` would start (None if it would refuse), and findings on the
    choice.
    """
    try:
        chosen = choice.choose(settings)
    except choice.RuntimeChoiceError as error:
        return None, [Finding.of(BAD, "Runtime", error)]
    where = "in containers" if chosen.runtime == "docker" else "natively"
    said = Finding(GOOD, "Runtime", f"{where}: {chosen.why}")
    return chosen.runtime, [_engine(is_needed=chosen.runtime == "docker"), said]


def _engine(*, is_needed: bool) -> Finding:
    if why := engine.problem():
        if is_needed:
            return Finding.of(BAD, "Docker", why)
        if choice.why_native():  # Docker is installed, so people may expect it
            return Finding.of(BEWARE, "Docker", why)
        words = "not used" if shutil.which("docker") else "not installed; only containers need it"
        return Finding(GOOD, "Docker", words)
    versions = f"engine {engine.version()}, Compose {engine.compose_version()}"
    return Finding(GOOD, "Docker", versions)


def containers(settings: Settings) -> Iterator[Finding]:
    """Yield findings about this appliance's containers or, if none runs, about their ports."""
    if engine.problem():
        return  # `chosen_runtime` has reported it
    try:
        there = engine.containers(Project(settings, State(settings.state_dir)).name)
    except engine.EngineError as error:
        yield Finding.of(BAD, "Running", error)
        return
    if not any(one.runs for one in there):
        yield Finding(GOOD, "Running", "no; `make up` starts it")
        yield from _ports(settings, appliance.published_ports(settings))
        return
    for one in sorted(there, key=lambda each: each.service):
        if one.serves:
            yield Finding(GOOD, one.service, f"healthy, CPUs {one.cpus}")
        elif not one.has_ended_well:
            fix = f"make logs ARGS={one.service}; make up starts the service again"
            yield Finding(BAD, one.service, one.health or one.state, fix)


def _ports(settings: Settings, wanted: dict[str, int]) -> Iterator[Finding]:
    taken = up.taken_ports(settings, wanted)
    for line in taken:
        yield Finding.of(BAD, "Ports", line)
    if not taken:
        numbers = ", ".join(map(str, sorted(wanted.values())))
        yield Finding(GOOD, "Ports", f"{numbers} are free")


def _monitoring(settings: Settings) -> Finding:
    if not settings.monitoring:
        return Finding(GOOD, "Monitoring", "off (DOORBUSTER_MONITORING=0)")
    jobs = (monitoring.PROMETHEUS, *monitoring.EXPORTERS)
    there = {job: program for job in jobs if (program := monitoring.find(job)) is not None}
    fix = f"apt-get install {' '.join(missing)}" if (missing := monitoring.missing()) else ""
    if monitoring.PROMETHEUS not in there:
        found = "Prometheus is not installed; only alerts, dashboards and metrics over time need it"
        return Finding(BEWARE, "Monitoring", found, fix)
    found = f"Prometheus {there[monitoring.PROMETHEUS].version}; exporters: " + ", ".join(
        job for job in monitoring.EXPORTERS if job in there
    )
    return Finding(BEWARE if fix else GOOD, "Monitoring", found, fix)


def _optional() -> Iterator[Finding]:
    for program, purpose in OPTIONAL_PROGRAMS.items():
        path = shutil.which(program) or shutil.which(program, path="/usr/sbin:/usr/local/sbin")
        if path:
            yield Finding(GOOD, program, path)
        else:
            package = "apache2-utils" if program == "ab" else program
            found = f"not installed; needed only for {purpose}"
            yield Finding(BEWARE, program, found, f"apt install {package}")


def _existing(folder: Path) -> Path:
    while not folder.exists():
        folder = folder.parent
    return folder


def _readable(folder: Path) -> bool:
    return os.access(folder, os.R_OK | os.X_OK)


def _gigabytes(count: int) -> str:
    return f"{count / 1024**3:.1f} GB"
