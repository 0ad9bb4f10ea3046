"""The commands `make up`, `make down` and `make reset` for an appliance in containers."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TextIO

from common import hosts, log_tail, private_file
from common.answering import get_refusal
from common.waiting import wait_while
from runtime import certificate_files, credentials, monitoring
from runtime.compose import certificate, engine, services
from runtime.compose import settings as compose_settings
from runtime.compose.engine import Container, EngineError
from runtime.compose.services import GRAFANA, KEPT, Part
from runtime.compose.settings import Project
from runtime.native import up
from runtime.progress import Progress
from runtime.settings import REPOSITORY, Settings, load
from runtime.state import State, digest_of

LOOK_EVERY_S = 0.5
PAGE_WITHIN_S = 120.0
BUILD_S = 3600.0
LOG_LINES = 20
_OFFLINE = "fix: make images-offline, or RUNTIME=native"


def start(settings: Settings, progress: Progress) -> None:
    """Start every missing or changed container, and wait until all are healthy."""
    with progress.step("Docker") as step:
        engine.check()
        step.detail = f"{engine.version()}, Compose {engine.compose_version()}"
    state = State(settings.state_dir)
    with progress.step("State folder") as step:
        state.make()
        state.close_to_others(settings.results_dir)
        step.detail = str(state.folder)
    with state.locked():
        credentials.make(state.folder)
        project = Project(load(), state)  # now with the secrets
        with_grafana = _Start(project, progress).run()
    progress.box("Doorbuster is up", urls(project, with_grafana=with_grafana))


def down(settings: Settings, progress: Progress) -> None:
    """Remove containers and networks, but keep the volumes."""
    engine.check()
    project = Project(settings, State(settings.state_dir))
    with project.state.locked(), progress.step("Doorbuster") as step:
        step.detail = "is down" if stop(project) else "was down already"


def unseen(settings: Settings) -> str | None:
    """Return the reason, in one line, if it is unknown whether this appliance runs in containers.
    Return None if this is known.
    """
    if not Project(settings, State(settings.state_dir)).mark.exists():
        return None
    if (why := engine.problem()) is None:
        return None
    return f"the appliance was started in containers, but their state is unknown: {why}"


def forget(settings: Settings, progress: Progress) -> None:
    """Remove the containers' volumes, if containers were ever started.

    Raises EngineError if no engine can remove them. Without the program docker, FORCE=1 keeps the
    volumes and avoids the error.
    """
    project = Project(settings, State(settings.state_dir))
    if not project.compose_env.exists():
        return
    if shutil.which("docker") is None:
        if os.environ.get("FORCE") != "1":
            raise EngineError(
                f"the volumes of containers (project {project.name}) cannot be removed, because "
                "the program docker is missing; fix: install it, or make reset FORCE=1, which "
                "keeps the volumes"
            )
        progress.say(
            "Not removed, because the program docker is missing: the volumes of project "
            f"{project.name}. To list them with docker: docker volume ls --filter "
            f"label=com.docker.compose.project={project.name}"
        )
        return
    if why := engine.problem():
        raise EngineError(
            f"the volumes of containers cannot be removed: {why.removesuffix(engine.OR_NATIVE)}; "
            f"fix, if they no longer exist: rm {project.compose_env}, then make reset"
        )
    with progress.step("Volumes of containers"):
        stop(project, volumes=True)


def urls(project: Project, *, with_grafana: bool) -> dict[str, str]:
    """Return the addresses that users open, and the next commands."""
    rows = up.urls(project.settings, prometheus=project.settings.monitoring)
    rows["Containers"] = f"{project.name} (make ps)"
    if with_grafana:
        inner = hosts.from_here(project.settings.inner_host)
        rows["Grafana"] = f"http://{hosts.authority(inner, project.settings.grafana_port)}/"
    elif project.settings.monitoring:
        rows["Grafana"] = "omitted: its image is not available here"
    return rows


def published_ports(settings: Settings) -> dict[str, int]:
    """Return the ports that containers publish on this machine, by their variables."""
    return {
        name: port
        for name, port in settings.ports().items()
        if "EXPORTER" not in name  # exporters are reachable only in the containers' network
    }


def stop(project: Project, *, volumes: bool = False) -> bool:
    """Remove every container and network of the project; return whether there was a container.

    With `volumes`, also remove the containers' data. Raises EngineError if the removal fails.
    """
    there = bool(engine.containers(project.name))
    if there or volumes:
        more = ["--volumes"] if volumes else []
        _compose(project, "--profile", "*", "down", "--remove-orphans", *more)
    project.mark.unlink(missing_ok=True)
    return there


@dataclass(slots=True)
class _Start:
    project: Project
    progress: Progress
    images: dict[str, str] = field(default_factory=dict)
    """The base images that this machine has only by tag, without digests."""

    def run(self) -> bool:
        """Carry out all steps; return whether Grafana runs.

        If no container existed before and the start fails or is interrupted, the new containers are
        removed, but not their volumes.
        """
        there = engine.containers(self.project.name)
        if not any(one.runs for one in there):
            self._check_ports()
        with self.progress.step("Images") as step:
            with_grafana = self._fetch_images()
            step.detail = "" if with_grafana else "without Grafana's"
        self._certificate()
        self._configure(with_grafana)
        self._build()
        self.project.mark.touch()
        try:
            for part in services.table(self.project.settings, with_grafana=with_grafana):
                self._bring_up(part)
            self._check_page()
        except BaseException:
            if not there:
                with self.progress.step("Removing the new containers"):
                    keep_logs(self.project)
                    stop(self.project)
            raise
        return with_grafana

    def _check_ports(self) -> None:
        with self.progress.step("Ports") as step:
            wanted = published_ports(self.project.settings)
            if taken := up.taken_ports(self.project.settings, wanted):
                raise up.StartError("\n".join(taken))
            step.detail = ", ".join(map(str, sorted(wanted.values())))

    def _fetch_images(self) -> bool:
        observed = with_grafana = self.project.settings.monitoring
        for variable, name in compose_settings.images().items():
            if variable == compose_settings.JAEGER_IMAGE:
                continue
            if not observed and variable.startswith(("PROMETHEUS", "GRAFANA")):
                continue
            if engine.image_id(name):
                continue
            if engine.image_id(tagged := compose_settings.without_digest(name)):
                self.images[variable] = tagged  # a substitute, or an image from an archive
            elif why := engine.pull(name):
                if variable != "GRAFANA_IMAGE":
                    raise EngineError(f"the image {name} cannot be fetched ({why}); {_OFFLINE}")
                with_grafana = False
        return with_grafana

    def _certificate(self) -> None:
        settings = self.project.settings
        own = certificate_files.of(self.project.state.folder)
        own.folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # it is mounted in all cases
        if any(pair.is_own for pair in certificate.pairs(settings)):
            from runtime import certificates  # takes a while

            # Customers and Prometheus use these names.
            names = certificates.own_names(*settings.served_names, "gateway", "lab")
            certificates.keep(own.folder, names=names)
        for path in (own.folder, *own.folder.glob("*")):
            self.project.own(path)

    def _configure(self, with_grafana: bool) -> None:
        monitoring.configure(
            self.project.prometheus,
            "compose",
            monitoring.targets(self.project.settings, monitoring.COMPOSE),
            monitoring.trust(self.project.settings),
        )
        self.project.write([GRAFANA] if with_grafana else [], self.images)

    def _build(self) -> None:
        state, image = self.project.state, self.project.image
        version = code_version()
        if state.stamped("image", version) and engine.image_id(image):
            return
        with self.progress.step("Image of the appliance") as step:
            if engine.image_id(kept := kept_image(self.project, version)):
                engine.tag(kept, image)
                step.detail = f"{image}, from an archive"
                state.write_stamp("image", version)
                return
            log = state.log("build")
            with log.open("w") as output:
                code = _compose_code(
                    self.project, "--progress", "plain", "build", "shop", output=output
                )
            if code != 0:
                raise up.StartError("the image cannot be built\n" + up.last_words(state, "build"))
            step.detail = image
            state.write_stamp("image", version)

    def _bring_up(self, part: Part) -> None:
        if part.ends and self._is_done(part):
            return
        with self.progress.step(part.title) as step:
            before = {one.id for one in self._of(part) if one.serves}
            up_alone = ("up", "--detach", "--no-deps", "--no-build")
            if KEPT in part.services:
                _compose(self.project, *up_alone, "--no-recreate", KEPT)
            _compose(self.project, *up_alone, *(one for one in part.services if one != KEPT))
            self._wait(part)
            if part.ends:
                self.project.state.write_stamp(self._stamp(part), self._wanted(part))
            elif before and before == {one.id for one in self._of(part)}:
                step.detail = "already runs"

    def _is_done(self, part: Part) -> bool:
        # The stamp alone is not enough, because the container and its volumes may have been
        # removed.
        done = any(one.has_ended_well for one in self._of(part))
        return done and self.project.state.stamped(self._stamp(part), self._wanted(part))

    def _stamp(self, part: Part) -> str:
        return f"container-{part.services[0]}"

    def _wanted(self, part: Part) -> str:
        return f"{part.wanted} {engine.image_id(self.project.image)}"

    def _of(self, part: Part) -> Iterator[Container]:
        there = engine.containers(self.project.name)
        return (one for one in there if one.service in part.services)

    def _wait(self, part: Part) -> None:
        def culprit() -> tuple[str, str] | None:
            found = list(self._of(part))
            if lost := [one for one in found if _is_lost(one, part)]:
                raise self._not_started(part, lost[0].service, _words(lost[0]))
            late = [one for one in found if not (one.has_ended_well if part.ends else one.serves)]
            if late:
                return late[0].service, _words(late[0])
            missing = set(part.services) - {one.service for one in found}
            return (min(missing), "is missing") if missing else None

        if (found := wait_while(culprit, part.within_s, every_s=LOOK_EVERY_S)) is not None:
            raise self._not_started(part, *found)

    def _not_started(self, part: Part, service: str, words: str) -> up.StartError:
        return up.StartError(
            f"{part.title}: the container {service} {words}\n" + last_words(self.project, service)
        )

    def _check_page(self) -> None:
        settings = self.project.settings
        host = hosts.from_here(settings.host)
        refusal = partial(get_refusal, host, settings.gateway_port, "/")
        if (why := wait_while(refusal, PAGE_WITHIN_S, every_s=LOOK_EVERY_S)) is not None:
            raise up.StartError(
                f"the gateway does not deliver pages: {why}\n" + last_words(self.project, "gateway")
            )


def keep_logs(project: Project) -> None:
    """Save the logs of containers that are about to be removed, for `make logs`."""
    for service in {one.service for one in engine.containers(project.name)}:
        private_file.write(project.state.log(service), _log(project, service).encode())


def _log(project: Project, service: str, *options: str) -> str:
    return subprocess.run(
        project.command("logs", "--no-color", "--no-log-prefix", *options, service),
        env=project.environment(),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    ).stdout


def last_words(project: Project, service: str) -> str:
    """Return the end of a container's log, with the command that shows more of it."""
    lines = log_tail.shown(_log(project, service, f"--tail={LOG_LINES}"), LOG_LINES)
    return f'  last lines:\n{lines}\n  fix: make logs ARGS="{service}" shows more'


def _is_lost(one: Container, part: Part) -> bool:
    if part.ends:
        return one.state == "exited" and one.exit_code != 0
    return one.state in ("exited", "dead") or one.health == "unhealthy" or one.restarts > 5


def _words(one: Container) -> str:
    if one.state == "exited":
        return f"ended with status {one.exit_code}"
    if one.restarts:
        return f"ended {one.restarts} times immediately after its start"
    return f"is {one.health or one.state}"


def in_the_image() -> list[str]:
    """Return the files and folders in the image, which are those that .dockerignore does not
    exclude.
    """
    lines = (REPOSITORY / ".dockerignore").read_text().splitlines()
    return [line[1:] for line in lines if line.startswith("!")]


def kept_image(project: Project, version: str) -> str:
    """Return the name of the appliance's image in an archive."""
    return f"doorbuster:{version[:12]}-{project.user[0]}"


def code_version() -> str:
    """Return a digest of the code in the image."""
    return digest_of(["docker/Dockerfile", "docker/images.env", *in_the_image()])


def _compose(project: Project, *arguments: str) -> None:
    """Run `docker compose …` silently. Raises EngineError with the end of its output."""
    log = project.state.log("compose")
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as output:
        code = _compose_code(project, "--progress", "quiet", *arguments, output=output)
    if code != 0:
        said = log_tail.last_line(log_tail.read(log))
        raise EngineError(f"docker compose {' '.join(arguments)} failed: {said}; fix: see {log}")


def _compose_code(project: Project, *arguments: str, output: TextIO) -> int:
    try:
        return subprocess.run(
            project.command(*arguments),
            cwd=REPOSITORY,
            env=project.environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=BUILD_S,
            check=False,
        ).returncode
    except subprocess.TimeoutExpired:
        raise EngineError(
            f"docker compose {' '.join(arguments)} took more than {BUILD_S:.0f} s; fix: see "
            f"{output.name}"
        ) from None
