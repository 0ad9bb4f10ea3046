"""The Docker engine of this machine, called through its command line."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from common import log_tail

ANSWER_S = 120.0  # a busy machine is slow
PULL_S = 1800.0
OR_NATIVE = ", or RUNTIME=native"
_AS_ROOT = f"fix: sudo usermod -aG docker $USER and log in again{OR_NATIVE}"
_START_IT = f"fix: sudo systemctl start docker{OR_NATIVE}"
_GET_BUILDX = "fix: install docker-buildx-plugin (Docker's packages) or docker-buildx"
_GET_COMPOSE = (
    "fix: install docker-compose-plugin (Docker's packages), docker-compose-v2 (Ubuntu's) or "
    "docker-compose (Debian 13's)"
)
LEAST_COMPOSE = (2, 19)
"""The first version of Compose that accepts the option --progress before the command."""
BUILDS_BY_BUILDX = 5
"""The first major version of Compose that builds only with buildx."""
_PROJECT = "com.docker.compose.project"
_SERVICE = "com.docker.compose.service"


class EngineError(RuntimeError):
    """The error for containers that cannot be used; the message is one line with the fix."""


@dataclass(frozen=True, slots=True)
class Container:
    """One container of a Compose project."""

    id: str
    service: str
    state: str  # created, running, restarting, exited, …
    health: str  # starting, healthy, unhealthy; empty without a health check
    exit_code: int
    restarts: int
    up_s: float
    cpus: str

    @property
    def runs(self) -> bool:
        """Whether the container has a process, which may not be ready yet."""
        return self.state == "running"

    @property
    def serves(self) -> bool:
        """Whether the container runs, and is healthy or has no health check."""
        return self.runs and self.health in ("", "healthy")

    @property
    def has_ended_well(self) -> bool:
        return self.state == "exited" and self.exit_code == 0


def problem() -> str | None:
    """Return the reason why no containers can be started here, in one line with the fix. Return
    None if containers can be started.
    """
    if shutil.which("docker") is None:
        return f"there is no program docker; fix: install Docker{OR_NATIVE}"
    asked = _docker("version", "--format", "{{.Server.Version}}")
    if asked.returncode != 0:
        if "permission denied" in asked.stderr:
            return f"this user may not use the Docker engine; {_AS_ROOT}"
        return f"the Docker engine does not answer ({_why(asked)}); {_START_IT}"
    compose = compose_version()
    if compose is None:
        return f"Docker Compose v2 is missing; {_GET_COMPOSE}"
    numbers = re.match(r"(\d+)\.(\d+)", compose)  # custom builds may write versions differently
    if numbers is None:
        return None
    major, minor = map(int, numbers.groups())
    if (major, minor) < LEAST_COMPOSE:
        least = ".".join(map(str, LEAST_COMPOSE))
        return f"Docker Compose {compose} is too old: at least {least} is needed; {_GET_COMPOSE}"
    if major >= BUILDS_BY_BUILDX and _docker("buildx", "version").returncode != 0:
        return (
            f"Docker Compose {compose} needs buildx for building, but buildx is missing; "
            f"{_GET_BUILDX}"
        )
    return None


def check() -> None:
    if why := problem():
        raise EngineError(why)


def version() -> str:
    return _docker("version", "--format", "{{.Server.Version}}").stdout.strip()


def compose_version() -> str | None:
    """Return the version of the Compose plugin (v2 or newer), or None."""
    asked = _docker("compose", "version", "--short")
    return asked.stdout.strip().removeprefix("v") if asked.returncode == 0 else None


def image_id(name: str) -> str | None:
    """Return the image's id, or None if this machine has no such image."""
    asked = _docker("image", "inspect", "--format", "{{.Id}}", name)
    return asked.stdout.strip() if asked.returncode == 0 else None


def pull(name: str) -> str | None:
    """Fetch an image from its registry; return None, or the reason for the failure in one line."""
    done = _docker("pull", "--quiet", name, timeout_s=PULL_S)
    if done.returncode == 0:
        return None
    return _why(done).removeprefix("Error response from daemon: ")


def tag(image: str, name: str) -> None:
    """Give an image a second name. Raises EngineError if that fails."""
    done = _docker("tag", image, name)
    if done.returncode != 0:
        raise EngineError(f"the image {image} cannot be given the name {name} ({_why(done)})")


def save(images: Iterable[str], file: Path) -> str | None:
    """Write images to a file; return None, or the reason for the failure in one line."""
    done = _docker("save", "--output", str(file), *images, timeout_s=PULL_S)
    return None if done.returncode == 0 else _why(done)


def containers(project: str) -> list[Container]:
    """Return every container of a Compose project, including stopped containers.

    Raises EngineError if the engine does not answer, which must not count as "no containers".
    """
    found = _docker("ps", "-aq", "--no-trunc", "--filter", f"label={_PROJECT}={project}")
    if found.returncode != 0:
        raise _untold(found)
    ids = found.stdout.split()
    if not ids:
        return []
    told = _docker("inspect", "--type", "container", *ids)
    # A container that has just been removed makes the call fail, but the output lists the others.
    said = told.stderr.lower().splitlines()
    if told.returncode != 0 and not (said and all("no such" in line for line in said)):
        raise _untold(told)
    return [container_of(each) for each in json.loads(told.stdout or "[]")]


def _why(failed: subprocess.CompletedProcess[str]) -> str:
    return log_tail.last_line(failed.stderr, "no answer")


def _untold(asked: subprocess.CompletedProcess[str]) -> EngineError:
    return EngineError(
        f"the Docker engine does not list its containers ({_why(asked)}); fix: try again, or sudo "
        "systemctl restart docker"
    )


def container_of(told: dict) -> Container:  # type: ignore[type-arg]
    state, labels = told["State"], told["Config"]["Labels"]
    return Container(
        id=told["Id"],
        service=labels.get(_SERVICE, "?"),
        state=state["Status"],
        health=(state.get("Health") or {}).get("Status", "").replace("none", ""),
        exit_code=state["ExitCode"],
        restarts=told["RestartCount"],
        up_s=_since(state["StartedAt"]) if state["Running"] else 0.0,
        cpus=told["HostConfig"].get("CpusetCpus") or "all",
    )


def _since(started: str) -> float:
    # fromisoformat does not accept nine decimal places.
    moment = datetime.fromisoformat(re.sub(r"(\.\d{1,6})?\d*Z$", r"\1", started)).replace(
        tzinfo=UTC
    )
    return max(0.0, (datetime.now(UTC) - moment).total_seconds())


def _docker(*arguments: str, timeout_s: float = ANSWER_S) -> subprocess.CompletedProcess[str]:
    command: Sequence[str] = ("docker", *arguments)
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(
            command, 1, "", f"docker {arguments[0]} took more than {timeout_s:.0f} s"
        )
    except OSError as error:
        return subprocess.CompletedProcess(command, 1, "", str(error))
