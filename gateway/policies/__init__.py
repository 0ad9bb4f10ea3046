"""The names of all policies: queueing policies, session admission and connection admission.

A new policy needs one module in this package and one line in this file. Policies are pure: the
modules of this package import only the standard library and each other.
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

Abandonment = Literal["ignore", "drop-queued", "cancel"]
"""The driver's reactions to a customer who leaves; they do not depend on the policy. `ignore`: the
orphan request is served in full (LIFO-Pri). `drop-queued`: the driver removes a waiting request
from its queue. `cancel`: the driver also stops a request in service (Connection Sentry).
"""


class Entry(NamedTuple):
    """The place of a policy's code: a module of this package, and two names in the module."""

    module: str
    sheet: str
    """The name of the data sheet."""
    make: str
    """The name of the function or class that creates the policy from the sheet's parameters."""


POLICIES: Final[dict[str, Entry]] = {
    "sq": Entry("single_queue", "SQ", "sq"),
    "always-fifo": Entry("single_queue", "ALWAYS_FIFO", "always_fifo"),
    "always-lifo": Entry("single_queue", "ALWAYS_LIFO", "always_lifo"),
    "lifo-at-overload": Entry("single_queue", "LIFO_AT_OVERLOAD", "lifo_at_overload"),
    "8q-af": Entry("eight_queues", "EIGHT_QUEUES_AF", "eight_queues_af"),
    "8q-lifo-pri": Entry("eight_queues", "EIGHT_QUEUES_LIFO_PRI", "eight_queues_lifo_pri"),
    "static-stages": Entry("static_stages", "STATIC_STAGES", "StaticStages"),
    "door-lifo": Entry("door", "DOOR_LIFO", "door_lifo"),
    "door-fifo": Entry("door", "DOOR_FIFO", "door_fifo"),
    "pass-through": Entry("concurrency_limit", "PASS_THROUGH", "pass_through"),
    "fixed-limit": Entry("concurrency_limit", "FIXED_LIMIT", "fixed_limit"),
    "aimd": Entry("concurrency_limit", "AIMD", "aimd"),
    "gradient2": Entry("concurrency_limit", "GRADIENT2", "gradient2"),
    "envoy-adaptive-concurrency": Entry("envoy", "ADAPTIVE_CONCURRENCY", "adaptive_concurrency"),
    "envoy-admission-control": Entry("envoy", "ADMISSION_CONTROL", "AdmissionControl"),
    "codel": Entry("controlled_delay", "CODEL", "ControlledDelay"),
    "dagor": Entry("dagor", "DAGOR", "Dagor"),
    "prioritised-rejection": Entry(
        "prioritised_rejection", "PRIORITISED_REJECTION", "PrioritisedRejection"
    ),
    "waiting-room": Entry("waiting_room", "WAITING_ROOM", "WaitingRoom"),
}

NO_ADMISSION: Final = "none"
"""The name for "no admission policy": the driver then uses only the queueing policy."""
ADMISSIONS: Final[dict[str, Entry]] = {
    NO_ADMISSION: Entry("admission", "NONE", "no_admission"),
    "sbac-responsive": Entry("sbac", "SBAC_RESPONSIVE", "sbac_responsive"),
    "sbac-stable": Entry("sbac", "SBAC_STABLE", "sbac_stable"),
    "sbac": Entry("sbac", "SBAC", "sbac"),
    "sbac-hybrid": Entry("sbac_hybrid", "SBAC_HYBRID", "HybridAdmission"),
    "sbac-predictive": Entry("sbac_predictive", "SBAC_PREDICTIVE", "PredictiveAdmission"),
}

NO_CONNECTION_ADMISSION: Final = "none"
CONNECTION_ADMISSIONS: Final[dict[str, Entry]] = {
    NO_CONNECTION_ADMISSION: Entry("connection_admission", "NONE", "AcceptAll"),
    "eac": Entry("edragon", "EAC", "ProcessorAdmission"),
}


class PolicyError(ValueError):
    """The error for an unknown or invalid policy or parameter, or an invalid policy file. `field`
    names the fault's field, e.g. `policy` or `parameters.<name>`; `allowed` describes the valid
    values.
    """

    def __init__(self, field: str, message: str, allowed: str) -> None:
        super().__init__(f"{field}: {message}; allowed: {allowed}")
        self.field = field
        self.message = message
        self.allowed = allowed


def find(name: str, among: Mapping[str, Entry], field: str) -> Entry:
    """Return the entry of the policy `name` from `among`; raise PolicyError for `field` if the name
    is unknown.
    """
    if name not in among:
        raise PolicyError(field, f"{name!r} is unknown", ", ".join(among))
    return among[name]


FILE_SUFFIX: Final = ".py"


def is_path(name: object) -> bool:
    """Return whether this policy name is the path of a student's file."""
    return isinstance(name, str) and name.endswith(FILE_SUFFIX)


def stem(name: str) -> str:
    """Return the name of a policy as pages show it: `own/quiet_door.py` becomes `quiet_door`."""
    return name.rpartition("/")[2].removesuffix(FILE_SUFFIX) if is_path(name) else name
