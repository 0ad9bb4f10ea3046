"""The choice of the queueing policy and the admission policy, with their parameters."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gateway.policies import NO_ADMISSION, PolicyError, is_path, registry, stem
from gateway.policies.interface import Policy
from gateway.policies.sheet import ParameterValue, Sheet
from gateway.students import files, naming
from gateway.students.calls import PolicyFile
from gateway.students.limits import IN_THE_GATEWAY, Limits
from gateway.students.stand_in import FallBack

log = logging.getLogger("gateway")


@dataclass(frozen=True, slots=True)
class PolicyChoice:
    """A choice of policies, in which an omitted parameter has its default value.

    `name` may be the path of a student's file; `file` then contains its text.
    """

    name: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    admission: str = NO_ADMISSION
    admission_parameters: Mapping[str, object] = field(default_factory=dict)
    file: PolicyFile | None = None

    @classmethod
    def of(
        cls,
        name: str,
        parameters: Mapping[str, object],
        admission: str,
        admission_parameters: Mapping[str, object],
        source: str | None = None,
    ) -> "PolicyChoice":
        """Return the choice. If `name` is a path, the policy's text is `source`; if `source` is
        None, the file is read.

        Raises PolicyError if the file is invalid, or if there is a `source` without a path.
        """
        file = None
        if is_path(name):
            file = files.read(name) if source is None else files.checked(PolicyFile(name, source))
        elif source is not None:
            allowed = "no `source`, or the path of a policy's file as `name`"
            raise PolicyError(
                "source", f"only a policy from a file has a text, but {name} is not a path", allowed
            )
        return cls(name, parameters, admission, admission_parameters, file)

    @property
    def sheet(self) -> Sheet:
        """The queueing policy's data sheet; raises PolicyError if there is no valid sheet."""
        return naming.sheet_of_file(self.file) if self.file else registry.sheet(self.name)

    @property
    def needs_sessions(self) -> bool:
        """Whether the policies need signed cookies, so that no client can claim the session of
        another client. The choice must be valid.
        """
        return self.admission != NO_ADMISSION or self.sheet.needs_sessions

    def make(
        self,
        limits: Limits = IN_THE_GATEWAY,
        on_fall_back: Callable[[FallBack], None] = lambda _: None,
    ) -> Policy:
        """Return a new policy; raises PolicyError if the choice is invalid. `on_fall_back` is
        called when FIFO replaces a student's policy that has failed.
        """
        chosen = (self.parameters, self.admission, self.admission_parameters)
        if self.file is None:
            return registry.create(self.name, *chosen)
        return naming.create(self.file, *chosen, limits=limits, on_fall_back=on_fall_back)

    def described(self) -> dict[str, object]:
        """Return the names and all parameters of the policies, ready for JSON; the choice must be
        valid. `file` and `sha256` identify a student's file, and `confinement` lists the layers
        that confine it.
        """
        file: dict[str, object] = {}
        if self.file:
            confined = dict(naming.confinement_of_file(self.file))
            file = {"file": self.name, "sha256": self.file.sha256, "confinement": confined}
        return {
            "name": stem(self.name),
            **file,
            "parameters": self.sheet.read(self.parameters),
            "admission": {
                "name": self.admission,
                "parameters": registry.admission_sheet(self.admission).read(
                    self.admission_parameters
                ),
            },
        }

    @property
    def label(self) -> str:
        """A label such as `door-lifo+sbac (hands 4, sbac ac_weight 0.3)`: the policies' names, and
        the parameters that differ from their defaults.
        """
        names = stem(self.name)
        changed = _changed(self.sheet, self.parameters)
        if self.admission != NO_ADMISSION:
            names += f"+{self.admission}"
            admission = registry.admission_sheet(self.admission)
            others = _changed(admission, self.admission_parameters)
            changed += [f"{self.admission} {text}" for text in others]
        return f"{names} ({', '.join(changed)})" if changed else names


def _changed(sheet: Sheet, given: Mapping[str, object]) -> list[str]:
    """Return the parameters that differ from their defaults, as texts of name and value."""
    defaults = sheet.read({})
    return [
        f"{name} {_in_words(value, defaults[name])}"
        for name, value in sheet.read(given).items()
        if value != defaults[name]
    ]


def _in_words(value: ParameterValue, default: ParameterValue) -> str:
    """Return a parameter's value as text: the number or, for a table, only the entries that differ
    from the default.
    """
    if isinstance(value, dict) and isinstance(default, dict):
        return " ".join(f"{key} {one:.12g}" for key, one in value.items() if one != default[key])
    return f"{value:.12g}"


class PolicyInForce:
    """The policy in force, and the number of failed students' policies since the start."""

    def __init__(self, choice: PolicyChoice, own_policy_s: float) -> None:
        """Begin with the policies in `choice`; a student's policy may use `own_policy_s` real
        seconds for each decision.
        """
        self.choice = choice
        self.fallbacks = 0
        self.own_policy_s = own_policy_s

    def make(self, choice: PolicyChoice) -> Policy:
        """Return a new policy; raise PolicyError if the choice is invalid."""

        def fell_back(why: FallBack) -> None:
            self.fallbacks += 1
            log.warning("FIFO has replaced the policy %s: %s", choice.name, why.reason)

        return choice.make(Limits(decision_s=self.own_policy_s), fell_back)
