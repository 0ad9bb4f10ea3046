"""The launch of the experiment that a step's command runs."""

from dataclasses import dataclass, replace

import click

from gateway.policies import PolicyError, is_path
from lab.cli.experiments import spec_of
from lab.console.launches.submission import Experiment, of_spec
from lab.console.site import own_policies
from lab.errors import SpecError
from lab.lessons.sheet import Sheet, Step, words_of
from lab.spec.experiment import Spec, checked, load_checked, read_spec

_EXPERIMENTS = ("compare", "run", "simulate")


@dataclass(frozen=True, slots=True)
class Start:
    """The experiment of a step, as the console launches it."""

    line: str
    """The sheet's command, which the launch replaces."""
    is_last_of_several: bool
    """Whether the step has other commands, which the person must first type at a terminal."""
    experiment: Experiment
    fault: str = ""
    """The reason why the console cannot launch the experiment now; empty if it can."""


def start_of(sheet: Sheet, step: Step) -> Start | None:
    """Return the experiment of a step; None if the step's commands all need a terminal."""
    lines = [
        line
        for command in step.commands
        if command.file is None
        for line in command.text.splitlines()
        if line
    ]
    title = f"Lab {sheet.number}, step {step.number}: {step.title}"
    for line in reversed(lines):
        experiment = Experiment(title, arguments=words_of(line))
        start = Start(line, len(lines) > 1, experiment)
        if experiment.arguments[:1] and experiment.arguments[0] in _EXPERIMENTS:
            return _with_spec(start, sheet)
        if experiment.arguments and experiment.real_s is not None:
            return start
    return None


def _with_spec(start: Start, sheet: Sheet) -> Start:
    written = sheet.files

    def load(name: str) -> Spec:
        if name in written:
            return checked(read_spec(written[name], name), name)
        return load_checked(name)

    try:
        spec = spec_of(start.experiment.arguments, load)
    except (SpecError, PolicyError, click.ClickException) as error:
        return replace(start, fault=str(error))
    offered = own_policies.own()
    for one in spec.policy:
        if is_path(one.name) and one.name not in offered:
            fault = f"{one.name} is missing; first create it with the commands above."
            return replace(start, fault=fault)
    return replace(start, experiment=of_spec(spec))
