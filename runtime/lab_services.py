"""The console and its workers as services."""

import hashlib
import signal
import sys

from common import hosts
from common.answering import get_refusal
from runtime import own_certificate
from runtime.service import SEEDING_TIMEOUT_S, Service, Tables, beside
from runtime.settings import Settings

_CODE = ("lab", "common", "gateway/policies", "simulator", "loadgen", "runtime/settings.py")


def lab(settings: Settings) -> Service:
    """Return the service of the console's pages."""
    host = hosts.from_here(settings.lab_host)
    page = "/people/login" if settings.lab_accounts else "/"  # other pages lead there
    tls = (settings.lab_tls_certificate, settings.lab_tls_key) if settings.lab_accounts else ()
    return Service(
        name="lab",
        title="Lab console",
        program=(sys.executable, "-m", "lab.console", "serve"),
        port=settings.lab_port,
        cpus=settings.other_cpus,
        stop_signal=signal.SIGTERM,
        stop_wait_s=15,
        ready_within_s=60,
        refusal=lambda: get_refusal(host, settings.lab_port, "/health", settings.lab_trust),
        page_refusal=lambda: get_refusal(host, settings.lab_port, page, settings.lab_trust),
        tables=Tables(
            title="The console's databases",
            command=beside(settings, "lab.console", "prepare"),
            log="lab-prepare",
            wanted=wanted_by_lab(settings),
            timeout_s=SEEDING_TIMEOUT_S,
        ),
        code=(*_CODE, *map(str, tls)),  # another certificate means a restart, too
        prepare=lambda: own_certificate.keep(settings, *tls),
        writes_results=True,
    )


def wanted_by_lab(settings: Settings) -> str:
    """Return the version of the console's database: Grafana's reader password, the address."""
    # With a generated secret: the stamp does not help to guess a password that a person chose.
    secrets = f"{settings.secret_key}\0{settings.results_password}"
    password = hashlib.sha256(secrets.encode()).hexdigest()[:16]
    return f"console {settings.postgres_db} {settings.lab_url} {password}"


def lab_worker(settings: Settings) -> Service:
    """Return the service of the workers, which carry launches out."""
    return Service(
        name="lab-worker",
        title="Workers of the console",
        program=(sys.executable, "-m", "lab.console", "work"),
        port=None,
        cpus=settings.other_cpus,
        stop_signal=signal.SIGQUIT,  # at once: their runs end with them
        stop_wait_s=40,
        ready_within_s=60,
        refusal=lambda: None,
        code=_CODE,
        writes_results=True,
    )
