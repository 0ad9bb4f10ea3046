"""Every policy there is, by name.

Owns: the list. A new policy is one module, one line here, one line in the conformance suite's
example traces. Must not know: what any policy does.
"""

from collections.abc import Callable, Mapping
from typing import Any

from gateway.policies import eight_queues, single_queue
from gateway.policies.interface import Policy
from gateway.policies.sheet import PolicyError, Sheet

__all__ = ["POLICIES", "PolicyError", "create", "describe", "sheet"]

POLICIES: dict[str, tuple[Sheet, Callable[..., Policy]]] = {
    known.name: (known, make)
    for known, make in (
        (single_queue.SQ, single_queue.sq),
        (single_queue.ALWAYS_FIFO, single_queue.always_fifo),
        (single_queue.ALWAYS_LIFO, single_queue.always_lifo),
        (single_queue.LIFO_AT_OVERLOAD, single_queue.lifo_at_overload),
        (eight_queues.EIGHT_QUEUES_AF, eight_queues.eight_queues_af),
        (eight_queues.EIGHT_QUEUES_LIFO_PRI, eight_queues.eight_queues_lifo_pri),
    )
}


def sheet(name: str) -> Sheet:
    """The data sheet of policy `name`; raises PolicyError naming the known ones."""
    if name not in POLICIES:
        raise PolicyError("policy", f"{name!r} is unknown", ", ".join(POLICIES))
    return POLICIES[name][0]


def create(name: str, parameters: Mapping[str, object]) -> Policy:
    """A fresh policy; what `parameters` leaves out has its published default.

    Raises PolicyError for an unknown policy, an unknown parameter, a value out of range.
    """
    values: dict[str, Any] = sheet(name).read(parameters)
    return POLICIES[name][1](**values)


def describe() -> list[dict[str, object]]:
    """The data sheets of all policies as JSON-ready values."""
    return [known.as_dict() for known, _ in POLICIES.values()]
