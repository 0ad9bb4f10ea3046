"""A student's policy as text."""

import hashlib
from dataclasses import dataclass
from functools import cached_property

from gateway.policies import stem


@dataclass(frozen=True)
class PolicyFile:
    """The text of a policy under the name by which it was asked for."""

    name: str
    text: str

    @property
    def stem(self) -> str:
        """What tables, pages and metrics call the policy."""
        return stem(self.name)

    @cached_property
    def sha256(self) -> str:
        """The digest of the text, in hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()
