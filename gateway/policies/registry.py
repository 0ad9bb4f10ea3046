"""Every policy there is, by name: the queueing policies, and the admission policies before them.

Owns: the two lists. A new policy is one module, one line here, one line in the conformance suite's
example traces. Must not know: what any policy does.
"""

from collections.abc import Callable, Mapping
from typing import Any

from gateway.policies import (
    admission,
    eight_queues,
    sbac,
    sbac_hybrid,
    sbac_predictive,
    single_queue,
)
from gateway.policies.admission import Admission
from gateway.policies.combination import Combination
from gateway.policies.interface import Policy
from gateway.policies.sheet import PolicyError, Sheet

__all__ = [
    "ADMISSIONS",
    "NO_ADMISSION",
    "POLICIES",
    "PolicyError",
    "admission_sheet",
    "create",
    "describe",
    "describe_admissions",
    "sheet",
]

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

NO_ADMISSION = admission.NONE.name

ADMISSIONS: dict[str, tuple[Sheet, Callable[..., Admission] | None]] = {
    NO_ADMISSION: (admission.NONE, None),
    **{
        known.name: (known, make)
        for known, make in (
            (sbac.SBAC_RESPONSIVE, sbac.sbac_responsive),
            (sbac.SBAC_STABLE, sbac.sbac_stable),
            (sbac.SBAC, sbac.sbac),
            (sbac_hybrid.SBAC_HYBRID, sbac_hybrid.HybridAdmission),
            (sbac_predictive.SBAC_PREDICTIVE, sbac_predictive.PredictiveAdmission),
        )
    },
}
"""`none` has nothing to make: a queueing policy is then driven alone."""


def sheet(name: str) -> Sheet:
    """The data sheet of queueing policy `name`; raises PolicyError naming the known ones."""
    if name not in POLICIES:
        raise PolicyError("policy", f"{name!r} is unknown", ", ".join(POLICIES))
    return POLICIES[name][0]


def admission_sheet(name: str) -> Sheet:
    """The data sheet of admission policy `name`; raises PolicyError naming the known ones."""
    if name not in ADMISSIONS:
        raise PolicyError("admission", f"{name!r} is unknown", ", ".join(ADMISSIONS))
    return ADMISSIONS[name][0]


def create(
    name: str,
    parameters: Mapping[str, object],
    admission: str = NO_ADMISSION,
    admission_parameters: Mapping[str, object] | None = None,
) -> Policy:
    """A fresh queueing policy behind a fresh admission policy; what is left out has its default.

    Raises PolicyError for an unknown policy, an unknown parameter, a value out of range; its field
    is `policy`, `parameters.<name>`, `admission` or `admission_parameters.<name>`.
    """
    values: dict[str, Any] = sheet(name).read(parameters)
    queueing = POLICIES[name][1](**values)
    door = _create_admission(admission, admission_parameters or {})
    return Combination(door, queueing) if door is not None else queueing


def _create_admission(name: str, parameters: Mapping[str, object]) -> Admission | None:
    known = admission_sheet(name)
    try:
        values: dict[str, Any] = known.read(parameters)
        make = ADMISSIONS[name][1]
        return make(**values) if make is not None else None
    except PolicyError as error:
        raise PolicyError(f"admission_{error.field}", error.message, error.allowed) from None


def describe() -> list[dict[str, object]]:
    """The data sheets of all queueing policies as JSON-ready values."""
    return [known.as_dict() for known, _ in POLICIES.values()]


def describe_admissions() -> list[dict[str, object]]:
    """The data sheets of all admission policies as JSON-ready values."""
    return [known.as_dict() for known, _ in ADMISSIONS.values()]
