"""The text of a student's policy, with its name and its digest."""

import hashlib
from dataclasses import dataclass
from functools import cached_property

from gateway.policies import stem


@dataclass(frozen=True)
class PolicyFile:
    """The text of a policy, and the name that the caller used for it."""

    name: str
    text: str

    @property
    def stem(self) -> str:
        """The name of the policy in tables, pages and metrics."""
        return stem(self.name)

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 digest of the text in hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()
