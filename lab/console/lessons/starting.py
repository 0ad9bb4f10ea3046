"""The launch of a step: the experiment of the command that the sheet has there."""

from collections.abc import Sequence
from dataclasses import dataclass

import click

from gateway.policies import PolicyError, is_path
from lab.cli.experiments import spec_of
from lab.console.gallery import cards
from lab.console.gallery.cards import CARDS, Card
from lab.console.launches.submission import expected_real_s, launch_of_spec
from lab.console.models import Launch
from lab.console.site import own_policies
from lab.console.site.allowances import Allowance
from lab.errors import SpecError
from lab.lessons.commands import words_of
from lab.lessons.sheet import Sheet, Step
from lab.spec.experiment import Spec, load_spec, read_spec

_EXPERIMENTS = ("compare", "run", "simulate")


@dataclass(frozen=True, slots=True)
class Start:
    """The experiment of a step, which the console can launch."""

    line: str
    """The command of the sheet that it replaces."""
    is_last_of_several: bool
    """Whether other commands come first, which only a terminal has."""
    spec: Spec | None = None
    card: Card | None = None
    fault: str = ""
    """Why it cannot be launched now; empty if it can."""

    @property
    def engine(self) -> str:
        """Return `live` or `simulated`."""
        if self.spec is not None:
            return self.spec.engine
        return self.card.engine if self.card is not None else ""

    @property
    def real_s(self) -> float | None:
        """Return the approximate duration on this machine; None if it is unknown."""
        if self.spec is not None:
            return expected_real_s(self.spec)
        return self.card.real_s if self.card is not None else None

    def launch(self, allowance: Allowance) -> Launch:
        """Return the launch, not yet in the queue; raises AllowanceError."""
        if self.spec is not None:
            return launch_of_spec(self.spec, allowance)
        assert self.card is not None
        return cards.launch_of(self.card, allowance)


def start_of(sheet: Sheet, step: Step) -> Start | None:
    """Return what the console can launch for a step; None where only a terminal has a command."""
    lines = [
        line
        for command in step.commands
        if command.file is None
        for line in command.text.splitlines()
        if line
    ]
    for line in reversed(lines):
        words = words_of(line)
        if words[:1] and words[0] in _EXPERIMENTS:
            return _of_experiment(sheet, line, words, len(lines) > 1)
        card = next((one for one in CARDS if one.arguments and one.arguments == words), None)
        if card is not None:
            return Start(line, len(lines) > 1, card=card)
    return None


def _of_experiment(sheet: Sheet, line: str, words: Sequence[str], is_last: bool) -> Start:
    written = sheet.files

    def load(name: str) -> Spec:
        return read_spec(written[name], name) if name in written else load_spec(name)

    try:
        spec = spec_of(words, load)
    except (SpecError, PolicyError, click.ClickException) as fault:
        return Start(line, is_last, fault=str(fault))
    missing = [one.name for one in spec.policy if is_path(one.name) and not _is_offered(one.name)]
    if missing:
        first = f"{missing[0]} is missing; write it first, with the commands above."
        return Start(line, is_last, fault=first)
    return Start(line, is_last, spec=spec)


def _is_offered(path: str) -> bool:
    return path in own_policies.own()
