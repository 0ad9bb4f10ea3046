"""Every policy there is, by name: queueing, admission of sessions, admission of connections.

A new policy is one module and one line here.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from gateway.policies import (
    admission,
    concurrency_limit,
    connection_admission,
    controlled_delay,
    dagor,
    door,
    edragon,
    eight_queues,
    envoy,
    prioritised_rejection,
    sbac,
    sbac_hybrid,
    sbac_predictive,
    single_queue,
    static_stages,
    waiting_room,
)
from gateway.policies.admission import Admission
from gateway.policies.combination import Combination
from gateway.policies.connection_admission import ConnectionAdmission
from gateway.policies.interface import Policy
from gateway.policies.sheet import PolicyError, Sheet

__all__ = [
    "ADMISSIONS",
    "CONNECTION_ADMISSIONS",
    "NO_ADMISSION",
    "NO_CONNECTION_ADMISSION",
    "POLICIES",
    "PolicyError",
    "admission_sheet",
    "connection_admission_sheet",
    "create",
    "create_admission",
    "create_connection_admission",
    "describe",
    "describe_admissions",
    "describe_connection_admissions",
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
        (static_stages.STATIC_STAGES, static_stages.static_stages),
        (door.DOOR_LIFO, door.door_lifo),
        (door.DOOR_FIFO, door.door_fifo),
        (concurrency_limit.PASS_THROUGH, concurrency_limit.pass_through),
        (concurrency_limit.FIXED_LIMIT, concurrency_limit.fixed_limit),
        (concurrency_limit.AIMD, concurrency_limit.aimd),
        (concurrency_limit.GRADIENT2, concurrency_limit.gradient2),
        (envoy.ADAPTIVE_CONCURRENCY, envoy.adaptive_concurrency),
        (envoy.ADMISSION_CONTROL, envoy.admission_control),
        (controlled_delay.CODEL, controlled_delay.codel),
        (dagor.DAGOR, dagor.dagor),
        (
            prioritised_rejection.PRIORITISED_REJECTION,
            prioritised_rejection.prioritised_rejection,
        ),
        (waiting_room.WAITING_ROOM, waiting_room.waiting_room),
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

NO_CONNECTION_ADMISSION = connection_admission.NONE.name

CONNECTION_ADMISSIONS: dict[str, tuple[Sheet, Callable[..., ConnectionAdmission]]] = {
    known.name: (known, make)
    for known, make in (
        (connection_admission.NONE, connection_admission.AcceptAll),
        (edragon.EAC, edragon.ProcessorAdmission),
    )
}


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


def connection_admission_sheet(name: str) -> Sheet:
    """The data sheet of connection admission policy `name`; raises PolicyError as the others."""
    if name not in CONNECTION_ADMISSIONS:
        known = ", ".join(CONNECTION_ADMISSIONS)
        raise PolicyError("connection_admission", f"{name!r} is unknown", known)
    return CONNECTION_ADMISSIONS[name][0]


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
    door = create_admission(admission, admission_parameters or {})
    return Combination(door, queueing) if door is not None else queueing


def create_admission(name: str, parameters: Mapping[str, object]) -> Admission | None:
    """A fresh admission policy, None for `none`; raises PolicyError as `create` does."""
    known, make = admission_sheet(name), ADMISSIONS[name][1]
    with _named("admission"):
        values: dict[str, Any] = known.read(parameters)
        return make(**values) if make is not None else None


def create_connection_admission(
    name: str, parameters: Mapping[str, object] | None = None
) -> ConnectionAdmission:
    """A fresh connection admission policy; what is left out has its default.

    Raises PolicyError; its field is `connection_admission` or
    `connection_admission_parameters.<name>`.
    """
    known = connection_admission_sheet(name)
    with _named("connection_admission"):
        values: dict[str, Any] = known.read(parameters or {})
        return CONNECTION_ADMISSIONS[name][1](**values)


@contextmanager
def _named(kind: str) -> Iterator[None]:
    """Faults of parameters say of which kind of policy they are."""
    try:
        yield
    except PolicyError as error:
        raise PolicyError(f"{kind}_{error.field}", error.message, error.allowed) from None


def describe() -> list[dict[str, object]]:
    """The data sheets of all queueing policies as JSON-ready values."""
    return [known.as_dict() for known, _ in POLICIES.values()]


def describe_admissions() -> list[dict[str, object]]:
    """The data sheets of all admission policies as JSON-ready values."""
    return [known.as_dict() for known, _ in ADMISSIONS.values()]


def describe_connection_admissions() -> list[dict[str, object]]:
    """The data sheets of all connection admission policies as JSON-ready values."""
    return [known.as_dict() for known, _ in CONNECTION_ADMISSIONS.values()]
