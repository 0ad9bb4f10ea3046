"""Policies by the names of their parts: "sq", or "sq+sbac-hybrid" behind admission."""

from gateway.policies import ADMISSIONS, NO_ADMISSION, POLICIES
from gateway.policies.interface import Policy
from gateway.policies.registry import create

BEHIND_ADMISSION = ("sq", "8q-lifo-pri")
"""The queueing policies behind every admission policy: the simplest and the richest."""

COMBINATIONS = (
    *POLICIES,
    *(
        f"{queueing}+{admission}"
        for admission in ADMISSIONS
        if admission != NO_ADMISSION
        for queueing in BEHIND_ADMISSION
    ),
)


def fresh(name: str) -> Policy:
    """Return a new policy with default parameters."""
    queueing, _, admission = name.partition("+")
    return create(queueing, {}, admission or NO_ADMISSION)
