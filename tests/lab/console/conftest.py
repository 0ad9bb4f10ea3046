"""The console as real processes: its server, its Celery workers, the session's own Redis."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
import requests

from common import answering, ports
from common.processes import AnyProcess
from lab.engines.live.announcement import RunAnnouncement
from lab.files.run_summary import PlannedRun
from lab.results.comparison import ComparisonResult
from lab.runner import comparison
from lab.spec.experiment import Spec
from runtime import certificate_files, certificates, credentials, settings
from runtime.settings import Settings, redis_address
from tests import fork_server
from tests.conftest import serving
from tests.waiting import until

PATIENCE_S = 240.0
UNANSWERED = ("Failed to load resource", "htmx:")
"""The reports of a page when the console does not answer it."""
SPEC = """version = 1
title = "{title}"
engine = "simulated"
seed = {seed}
repetitions = {repetitions}
[[policy]]
name = "sq"
[[policy]]
name = "8q-lifo-pri"
[load]
rho = [1.4]
sessions = {sessions}
"""
FORM = {
    "title": "Mine", "engine": "simulated", "policies": ["sq", "8q-lifo-pri"],
    "admission": ["none"], "abandonment": ["ignore"], "rho": "1.4", "sessions": "200",
    "duration_s": "", "repetitions": "1", "page_profile": "paper", "seed": "1", "time_scale": "10",
}  # fmt: skip
"""The fields of the launch form."""
COMPARED = Spec.model_validate(
    {
        "title": "A rush in a terminal",
        "policy": [{"name": "sq"}, {"name": "8q-lifo-pri"}],
        "load": {"rho": [2.0], "sessions": 100},
    }
)


class Workers:
    """The workers of a console, which cost seconds of CPU and start when they are first needed."""

    def __init__(self, start: Callable[[], subprocess.Popen[bytes]]) -> None:
        self._start = start

    @cached_property
    def process(self) -> subprocess.Popen[bytes]:
        """Their process, which runs from now on."""
        return self._start()


@dataclass
class Console:
    """A console to talk to as a browser does."""

    port: int
    state: Path
    results: Path
    environment: dict[str, str]
    session: requests.Session = field(default_factory=requests.Session)
    workers: Workers | None = None
    authority: Path | None = None
    """The authority of a console that serves TLS."""
    log: Path = Path()
    server: AnyProcess | None = None

    def url(self, path: str) -> str:
        return f"{'https' if self.authority else 'http'}://127.0.0.1:{self.port}{path}"

    @property
    def verify(self) -> str | bool:
        """The value of `verify` for `requests`."""
        return str(self.authority) if self.authority else True

    def get(self, path: str, **more: Any) -> requests.Response:
        return self.session.get(self.url(path), timeout=PATIENCE_S, verify=self.verify, **more)

    def post(self, path: str, data: object = None, **more: object) -> requests.Response:
        """A form as a page sends it: with the token of the cookie; follows where it leads."""
        cookie = "__Host-lab_csrf" if self.authority else "lab_csrf"
        if cookie not in self.session.cookies:
            self.get("/")
        headers = {"X-CSRFToken": self.session.cookies[cookie], "Origin": self.url("")}
        return self.session.post(
            self.url(path),
            data=data,
            headers=headers,
            timeout=PATIENCE_S,
            verify=self.verify,
            **more,
        )

    def upload(self, field_name: str, path: str, name: str, content: bytes) -> requests.Response:
        return self.post(path, files={field_name: (name, content)})

    def launch(
        self, title: str, *, sessions: int = 300, seed: int = 1, repetitions: int = 1
    ) -> str:
        """Upload a simulated spec; the id of its launch."""
        self.start_workers()
        text = SPEC.format(title=title, seed=seed, sessions=sessions, repetitions=repetitions)
        answer = self.upload("spec", "/upload/", "my.toml", text.encode())
        found = re.search(r"/launches/([0-9a-f]+)/$", answer.url)
        assert found, answer.text
        return found[1]

    def state_of(self, launch: str) -> str:
        text = self.get(f"/launches/{launch}/state").text
        found = re.search(r'class="tag (\w+)"', text)
        assert found, text
        return found[1]

    def result_of(self, launch: str) -> str:
        found = re.search(r"/results/([^/]+)/", self.get(f"/launches/{launch}/state").text)
        assert found
        return found[1]

    def start_workers(self) -> None:
        """Start this console's own workers, if it has some and they do not run yet."""
        if self.workers is not None:
            _ = self.workers.process

    def wait_until(self, launch: str, *states: str) -> None:
        self.start_workers()
        # A launch takes seconds, and each look costs as much CPU time as a page.
        words = f"{launch} {' or '.join(states)}"
        until(lambda: self.state_of(launch) in states, words, every_s=0.25)


def run(console: Console, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """A command about accounts, `doorbuster class …`, or one of the services; `given` comes in."""
    program = (
        ["lab.console"] if words[0] in ("prepare", "serve", "work") else ["doorbuster", "class"]
    )
    return fork_server.run(
        [sys.executable, "-m", *program, *words],
        env=console.environment,
        input=given,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )


@pytest.fixture(scope="session")
def prepared(appliance_database: Settings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder with the database and the static files of a console that was never served."""
    state = tmp_path_factory.mktemp("prepared") / "state"
    made = run(Console(0, state, state, environment_of(appliance_database, state)), "prepare")
    assert made.returncode == 0, made.stderr
    return state


def environment_of(database: Settings, state: Path) -> dict[str, str]:
    """Return the environment of a console's processes, with separate ports."""
    lab_port, admin_port = ports.free(2)
    return {name: text for name, text in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"} | {
        "DOORBUSTER_STATE_DIR": str(state),
        "DOORBUSTER_RESULTS_DIR": str(state.with_name("results")),
        "DOORBUSTER_LAB_PORT": str(lab_port),
        "DOORBUSTER_GATEWAY_ADMIN_PORT": str(admin_port),  # there is no gateway behind it
        "DOORBUSTER_FIRST_LOOK": "0",
        "DOORBUSTER_TELEMETRY_VIEWER": "http://viewer.test/trace/{trace}",
        "DOORBUSTER_CELERY_BROKER": redis_address(
            "127.0.0.1", database.broker_port, database.redis_password
        )
        + "/3",
    }


@pytest.fixture(scope="module")
def console(
    appliance_database: Settings, prepared: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Console]:
    """Served, with workers once one is needed; results and database in the module's own folder."""
    folder = tmp_path_factory.mktemp("console")
    environment = environment_of(appliance_database, folder / "state")
    shutil.copytree(prepared, folder / "state")
    lab_port = int(environment["DOORBUSTER_LAB_PORT"])
    made = Console(lab_port, folder / "state", folder / "results", environment)
    with served(made, folder) as made.server, ExitStack() as started:
        made.workers = Workers(lambda: started.enter_context(worker(made, folder)))
        yield made


@contextmanager
def served(console: Console, folder: Path, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """A server on the port of `console` until the block ends, which has the same environment."""
    environment = console.environment | {"DOORBUSTER_LAB_PORT": str(console.port)} | variables
    with pytest.MonkeyPatch.context() as patch:
        for name, text in environment.items():
            patch.setenv(name, text)
        patch.delenv("DJANGO_SETTINGS_MODULE", raising=False)
        with serving(
            [sys.executable, "-m", "lab.console", "serve"],
            lambda: answering.get_refusal(
                "127.0.0.1", console.port, "/health", settings.load(environment).lab_trust
            ),
            folder / "serve.log",
        ) as process:
            yield process


def worker(console: Console, folder: Path):  # type: ignore[no-untyped-def]
    """Workers of a console until the block ends."""
    return serving(
        [sys.executable, "-m", "lab.console", "work"],
        lambda: None,
        folder / "work.log",
        stop=signal.SIGQUIT,
    )


@pytest.fixture(scope="module")
def lab(appliance: dict[str, str]) -> Console:
    """The console of the running appliance."""
    return Console(
        int(appliance["DOORBUSTER_LAB_PORT"]),
        Path(appliance["DOORBUSTER_STATE_DIR"]),
        Path(appliance["DOORBUSTER_RESULTS_DIR"]),
        appliance,
    )


def call(
    appliance: dict[str, str], part: str, method: str, path: str, body: object = None
) -> dict[str, Any]:
    """A call of the gateway's admin API or the shop's controller."""
    port = appliance[{"gateway": "DOORBUSTER_GATEWAY_ADMIN_PORT",
                      "shop": "DOORBUSTER_SHOP_CONTROLLER_PORT"}[part]]  # fmt: skip
    url = f"http://127.0.0.1:{port}{path}"
    token = credentials.read(Path(appliance["DOORBUSTER_STATE_DIR"])).inner_token
    headers = {"Authorization": f"Bearer {token}"}
    answer = requests.request(method, url, json=body, headers=headers, timeout=PATIENCE_S)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.fixture
def queue(appliance: dict[str, str]) -> Iterator[list[socket.socket]]:
    """Yield more requests than there are workers, at a slow shop, as open sockets.

    Afterwards the shop is idle again, so that orphan requests are not the next test's load.
    """
    call(appliance, "shop", "PUT", "/settings", {"time_scale": 0.1, "profile": "paper"})
    address = ("127.0.0.1", int(appliance["DOORBUSTER_GATEWAY_PORT"]))
    customers = []
    with ExitStack() as open_sockets:
        for target in ("/", "/browse/fiction/", "/search/?q=x") * 25:
            customer = open_sockets.enter_context(socket.create_connection(address, PATIENCE_S))
            customer.sendall(f"GET {target} HTTP/1.1\r\nHost: shop\r\n\r\n".encode())
            customers.append(customer)
        yield customers
    call(appliance, "shop", "PUT", "/settings", {"time_scale": 10})
    call(appliance, "gateway", "PUT", "/settings", {"abandonment": "ignore"})
    until(lambda: is_idle(appliance), "an idle shop")


def is_idle(appliance: dict[str, str]) -> bool:
    """Return whether no request waits or is served."""
    now = call(appliance, "gateway", "GET", "/snapshot")
    return now["waiting"] == now["in_service"] == 0


@pytest.fixture
def visit(chromium: Any, lab: Console) -> Iterator[Callable[..., Any]]:
    """A function (path, **context) → page; what goes wrong in it fails the test."""
    with visiting(chromium, lab) as open_page:
        yield open_page


@contextmanager
def visiting(
    chromium: Any, lab: Console, *, bears: tuple[str, ...] = ()
) -> Iterator[Callable[..., Any]]:
    """As `visit`, of any console; a page may report what begins with one of `bears`."""
    faults: list[str] = []
    contexts = []

    def open_page(path: str, **more: object) -> Any:
        context = chromium.new_context(**more)
        context.set_default_timeout(1000 * PATIENCE_S)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda fault: faults.append(str(fault)))
        page.on("console", lambda said: said.type == "error" and faults.append(said.text))
        page.on("request", lambda asked: _note_foreign(asked.url, lab.url("/"), faults))
        page.goto(lab.url(path))
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not [fault for fault in faults if not fault.startswith(bears)]


def _note_foreign(url: str, own: str, faults: list[str]) -> None:
    if not url.startswith((own, "data:", "blob:")):
        faults.append(f"asked for {url}")


@pytest.fixture(scope="module")
def classroom(console: Console, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """The same console's second server, with accounts and in classroom mode."""
    settings = {"DOORBUSTER_LAB_ACCOUNTS": "1", "DOORBUSTER_LAB_CLASSROOM": "1"}
    with with_accounts(console, tmp_path_factory.mktemp("classroom"), settings) as made:
        yield made


@pytest.fixture(scope="module")
def laboratory(console: Console, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """The same console's second server, with accounts; students may launch live experiments."""
    settings = {"DOORBUSTER_LAB_ACCOUNTS": "1", "DOORBUSTER_LAB_CLASSROOM": "0"}
    with with_accounts(console, tmp_path_factory.mktemp("laboratory"), settings) as made:
        yield made


@contextmanager
def with_accounts(
    console: Console, folder: Path, settings: Mapping[str, str], *, prepares: bool = False
) -> Iterator[Console]:
    """A second server of this console with these settings; `prepares` runs `prepare` first."""
    (port,) = ports.free(1)
    certificate, _ = certificates.keep(certificate_files.of(console.state).folder)
    environment = {**console.environment, **settings, "DOORBUSTER_LAB_PORT": str(port)}
    made = replace(
        console,
        port=port,
        environment=environment,
        session=requests.Session(),
        authority=certificate.authority,
        log=folder / "serve.log",
    )
    if prepares:
        prepared = run(made, "prepare")
        assert prepared.returncode == 0, prepared.stderr
    with ExitStack() as servers:
        with pytest.MonkeyPatch.context() as patch:
            for name, text in environment.items():
                patch.setenv(name, text)
            servers.enter_context(
                serving(
                    [sys.executable, "-m", "lab.console", "serve"],
                    lambda: answering.get_refusal("127.0.0.1", port, "/health", certificate.server),
                    made.log,
                )
            )
        yield made


@pytest.fixture
def runs_of() -> Iterator[Callable[[Console], list[Callable[[], RunAnnouncement]]]]:
    """Yield a function that makes COMPARED without carrying it out, and reports its runs as live
    ones."""
    told = []

    def made(lab: Console) -> list[Callable[[], RunAnnouncement]]:
        folder = ComparisonResult.create(lab.results, COMPARED, {}, comparison.plan(COMPARED))

        def begins(planned: PlannedRun) -> RunAnnouncement:
            facts = {"experiment": folder.path.name, "run": planned.folder}
            told.append(RunAnnouncement(lab.state, facts))
            return told[-1]

        return [lambda planned=planned: begins(planned) for planned in folder.plan()]

    yield made
    for run in told:
        run.close()
