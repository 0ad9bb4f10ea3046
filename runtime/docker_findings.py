"""The doctor's findings about containers: the engine, the chosen runtime, the running
containers."""

import shutil
from collections.abc import Iterator

from runtime import choice, compose, compose_engine, up
from runtime.compose_settings import Project
from runtime.findings import Finding, Verdict
from runtime.settings import Settings
from runtime.state import State


def runtime(settings: Settings) -> tuple[choice.Runtime | None, list[Finding]]:
    """Return the runtime that `make up` would start, or None if it would refuse, and
    the findings."""
    try:
        chosen = choice.choose(settings)
    except choice.RuntimeChoiceError as error:
        return None, [Finding.of(Verdict.BAD, "Runtime", error)]
    where = "in containers" if chosen.runtime == "docker" else "natively"
    said = Finding(Verdict.GOOD, "Runtime", f"{where}: {chosen.why}")
    return chosen.runtime, [_engine(is_needed=chosen.runtime == "docker"), said]


def _engine(*, is_needed: bool) -> Finding:
    if why := compose_engine.problem():
        if is_needed:
            return Finding.of(Verdict.BAD, "Docker", why)
        if choice.why_native():  # a person may expect it
            return Finding.of(Verdict.BEWARE, "Docker", why)
        words = "not used" if shutil.which("docker") else "not there; only for containers"
        return Finding(Verdict.GOOD, "Docker", words)
    versions = f"engine {compose_engine.version()}, Compose {compose_engine.compose_version()}"
    return Finding(Verdict.GOOD, "Docker", versions)


def containers(settings: Settings) -> Iterator[Finding]:
    """Yield findings about this appliance's containers, or about their ports where none runs."""
    if compose_engine.problem():
        return  # `runtime` has reported it
    try:
        there = compose_engine.containers(Project(settings, State(settings.state_dir)).name)
    except compose_engine.EngineError as error:
        yield Finding.of(Verdict.BAD, "Running", error)
        return
    if not any(one.runs for one in there):
        yield Finding(Verdict.GOOD, "Running", "no; `make up` starts it")
        yield from ports(settings, compose.published_ports(settings))
        return
    for one in sorted(there, key=lambda each: each.service):
        if one.serves:
            yield Finding(Verdict.GOOD, one.service, f"healthy, CPUs {one.cpus}")
        elif not one.has_ended_well:
            fix = f"make logs ARGS={one.service}; make up starts it again"
            yield Finding(Verdict.BAD, one.service, one.health or one.state, fix)


def ports(settings: Settings, wanted: dict[str, int]) -> Iterator[Finding]:
    """Yield findings about these ports, by their variables: whether they are free."""
    taken = up.taken_ports(settings, wanted)
    for line in taken:
        yield Finding.of(Verdict.BAD, "Ports", line)
    if not taken:
        numbers = ", ".join(map(str, sorted(wanted.values())))
        yield Finding(Verdict.GOOD, "Ports", f"{numbers} are free")
