"""A sheet's steps on a running appliance, as a student would do them."""

import ssl
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from lab.lessons.sheet import Command, Sheet, Step
from runtime.settings import REPOSITORY, load
from tests.labs.addresses import usual_ports
from tests.labs.sheets import addresses

PATIENCE_S = 1800.0
OWN = REPOSITORY / "own"
"""The folder of students' files; files that a test adds there are removed."""


@dataclass(frozen=True, slots=True)
class Done:
    """The results of a step."""

    folder: Path | None
    """The result folder of the step's last command that made one."""
    printed: str


class Class:
    """A class that does steps on the appliance of `environment`."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = dict(environment) | {"COLUMNS": "200", "NO_COLOR": "1"}
        # A sheet's `make` would inherit the arguments of `make test-labs`.
        for name in ("ARGS", "MAKEFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MFLAGS"):
            self._environment.pop(name, None)
        self._results = load(environment, REPOSITORY).results_dir
        theirs = load(environment, REPOSITORY).ports()
        self._ports = {port: theirs[name] for port, name in usual_ports().items()}

    def does(self, step: Step) -> Done:
        """Run the step's commands in their quick form; fail with their output."""
        folder, printed = None, ""
        for command in step.commands:
            if command.file:
                write(command)
                continue
            done = self.types(command.quick)
            folder, printed = done.folder or folder, printed + done.printed
        return Done(folder, printed)

    def types(self, text: str) -> Done:
        """Run a command; fail with its output."""
        before = self._folders()
        printed = self._types(self._here(text))
        new = sorted(self._folders() - before, key=lambda path: path.stat().st_mtime_ns)
        return Done(new[-1] if new else None, printed)

    def opens(self, step: Step) -> None:
        """Open every address that the step names."""
        for address in addresses("\n".join(_outside_blocks(step.text))):
            here = urllib.request.Request(self._here(address), headers=self._token_for(address))
            with urllib.request.urlopen(here, timeout=120, context=_unverified()) as answer:
                assert answer.status == 200, address

    def _token_for(self, address: str) -> Mapping[str, str]:
        """Return the header of `make token` for the admin API: it may answer nobody else."""
        if usual_ports().get(urlsplit(address).port or 0) != "DOORBUSTER_GATEWAY_ADMIN_PORT":
            return {}
        name, _, value = self._types("make token").strip().partition(": ")
        return {name: value}

    def _here(self, text: str) -> str:
        for port, own in self._ports.items():
            text = text.replace(f"127.0.0.1:{port}", f"127.0.0.1:{own}")
        return text

    def _types(self, text: str) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=REPOSITORY,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, f"{text}\nended with {done.returncode}:\n{done.stdout}"
        return done.stdout

    def _folders(self) -> set[Path]:
        """Return the results of comparisons and reproductions."""
        names = ("plan.json", "reproduction.json")
        return {path.parent for name in names for path in self._results.glob(f"*/{name}")}


@contextmanager
def students_files(sheet: Sheet) -> Iterator[None]:
    """Remove the files that a sheet's students write or make at the end of the block."""
    before = set(OWN.rglob("*")) if OWN.exists() else None
    for step in sheet.steps:
        for command in step.commands:
            if command.file:
                assert not (REPOSITORY / command.file).exists(), f"{command.file} is there already"
    try:
        yield
    finally:
        for path in sorted(OWN.rglob("*") if OWN.exists() else (), reverse=True):
            if path not in (before or ()):
                path.rmdir() if path.is_dir() else path.unlink()
        if before is None and OWN.exists():
            OWN.rmdir()


def _unverified() -> ssl.SSLContext:
    """Return a context that accepts the appliance's certificate, as a student's browser does."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def write(command: Command) -> None:
    """Write the file that a sheet lets its students write."""
    path = REPOSITORY / str(command.file)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(command.text, encoding="utf-8")


def _outside_blocks(text: str) -> Iterator[str]:
    inside = False
    for line in text.splitlines():
        if line.startswith("```"):
            inside = not inside
        elif not inside:
            yield line
