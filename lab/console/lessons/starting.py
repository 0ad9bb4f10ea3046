"""The launch of the experiment that a step's command runs."""

from dataclasses import dataclass, replace

import click

from gateway.policies import PolicyError, is_path
from lab.cli.experiments import spec_of
from lab.console.launches.submission import (
    command_real_s,
    expected_real_s,
    launch_of_command,
    launch_of_spec,
)
from lab.console.models import Launch
from lab.console.site import own_policies
from lab.console.site.allowances import Allowance
from lab.errors import SpecError
from lab.lessons.sheet import Sheet, Step, words_of
from lab.runner import estimates
from lab.spec.experiment import Spec, checked, load_checked, read_spec

_EXPERIMENTS = ("compare", "run", "simulate")


@dataclass(frozen=True, slots=True)
class Start:
    """The experiment of a step, as the console launches it."""

    line: str
    """The sheet's command, which the launch replaces."""
    is_last_of_several: bool
    """Whether the step has other commands, which the person must type at a terminal."""
    title: str
    spec: Spec | None = None
    arguments: tuple[str, ...] = ()
    """The arguments of the command. The launch uses them only if `spec` is None."""
    fault: str = ""
    """The reason why the console cannot launch the experiment now; empty if it can."""

    @property
    def engine(self) -> str:
        """Return `live` or `simulated`."""
        if self.spec is not None:
            return self.spec.engine
        return estimates.engine_of_command(self.arguments)

    @property
    def real_s(self) -> float | None:
        """Return the approximate duration on this machine; None if the duration is unknown."""
        if self.spec is not None:
            return expected_real_s(self.spec)
        return command_real_s(self.arguments)

    def launch(self, allowance: Allowance) -> Launch:
        """Return the launch without adding it to the queue. Raises AllowanceError if the launch
        exceeds a limit."""
        if self.spec is not None:
            return launch_of_spec(self.spec, allowance)
        return launch_of_command(self.title, self.arguments, allowance)


def start_of(sheet: Sheet, step: Step) -> Start | None:
    """Return the experiment that the console can launch for a step; None if the step's commands
    all need a terminal."""
    lines = [
        line
        for command in step.commands
        if command.file is None
        for line in command.text.splitlines()
        if line
    ]
    title = f"Lab {sheet.number}, step {step.number}: {step.title}"
    for line in reversed(lines):
        words = words_of(line)
        start = Start(line, len(lines) > 1, title, arguments=words)
        if words[:1] and words[0] in _EXPERIMENTS:
            return _with_spec(start, sheet)
        if words and start.real_s is not None:
            return start
    return None


def _with_spec(start: Start, sheet: Sheet) -> Start:
    written = sheet.files

    def load(name: str) -> Spec:
        if name in written:
            return checked(read_spec(written[name], name), name)
        return load_checked(name)

    try:
        spec = spec_of(start.arguments, load)
    except (SpecError, PolicyError, click.ClickException) as error:
        return replace(start, fault=str(error))
    missing = [one.name for one in spec.policy if is_path(one.name) and not _is_offered(one.name)]
    if missing:
        fault = f"{missing[0]} is missing; first create it with the commands above."
        return replace(start, fault=fault)
    return replace(start, spec=spec)


def _is_offered(path: str) -> bool:
    return path in own_policies.own()
