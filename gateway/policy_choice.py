"""Which policies are in force: one for the queues, one for admission, each with its parameters.

Owns: the four together, as settings and admin API name them. Must not know: what a policy does.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gateway.policies import registry
from gateway.policies.interface import Policy


@dataclass(frozen=True, slots=True)
class PolicyChoice:
    """A choice as it was given; parameters left out have their defaults."""

    name: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    admission: str = registry.NO_ADMISSION
    admission_parameters: Mapping[str, object] = field(default_factory=dict)

    @property
    def needs_sessions(self) -> bool:
        """Whether each session must have a name that nobody else can claim, from its first request
        on; for a choice that could be made."""
        return self.admission != registry.NO_ADMISSION or registry.sheet(self.name).needs_sessions

    def make(self) -> Policy:
        """A fresh policy; raises PolicyError (`registry.create`)."""
        return registry.create(
            self.name, self.parameters, self.admission, self.admission_parameters
        )

    def described(self) -> dict[str, object]:
        """Names and all parameters, JSON-ready; for a choice that could be made."""
        return {
            "name": self.name,
            "parameters": registry.sheet(self.name).read(self.parameters),
            "admission": {
                "name": self.admission,
                "parameters": registry.admission_sheet(self.admission).read(
                    self.admission_parameters
                ),
            },
        }
