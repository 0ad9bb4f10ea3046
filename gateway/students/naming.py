"""The functions that find the data sheet in a student's file, and create the file's policy."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from gateway.policies import NO_ADMISSION, PolicyError, registry
from gateway.policies.admission import Combination
from gateway.policies.interface import Policy
from gateway.policies.sheet import Sheet
from gateway.students.calls import MisbehavedError, PolicyFile
from gateway.students.limits import WITHOUT_CUSTOMERS, Limits
from gateway.students.process import Child
from gateway.students.stand_in import FallBack, StandIn

REMEMBERED: Final = 1000


class _Started(NamedTuple):
    """The data sheet in a policy's file, and the layers that confine the policy."""

    sheet: Sheet
    holding: Mapping[str, str]


remembered: OrderedDict[str, _Started] = OrderedDict()
"""The data sheets by the digest of their files, the most recently used last; reading a sheet needs
a process.
"""


def sheet_of_file(file: PolicyFile) -> Sheet:
    """Return the data sheet in a student's file; raise PolicyError if it is missing or invalid."""
    return _of(file).sheet


def confinement_of_file(file: PolicyFile) -> Mapping[str, str]:
    """Return the layers that confine this file's policy (`confinement.LAYERS`); raise PolicyError
    if the file is invalid.
    """
    return _of(file).holding


def _of(file: PolicyFile) -> _Started:
    try:
        remembered.move_to_end(file.sha256)
        return remembered[file.sha256]
    except KeyError:
        child = _started(file, WITHOUT_CUSTOMERS)
        child.end()
        return _Started(child.sheet, child.holding)


def check(file: PolicyFile, parameters: Mapping[str, object]) -> None:
    """Raise PolicyError if the file cannot create a policy with these parameters."""
    _made(file, parameters, WITHOUT_CUSTOMERS).end()


def create(
    file: PolicyFile,
    parameters: Mapping[str, object],
    admission: str = NO_ADMISSION,
    admission_parameters: Mapping[str, object] | None = None,
    *,
    limits: Limits = WITHOUT_CUSTOMERS,
    on_fall_back: Callable[[FallBack], None] = lambda _: None,
) -> Policy:
    """Return a student's policy combined with a new admission policy, as `registry.create` does.
    The call takes at most `limits.start_s`. Raises PolicyError if the file or a choice is invalid.
    """
    door = registry.create_admission(admission, admission_parameters or {})
    child = _made(file, parameters, limits)
    own = StandIn(file.stem, child, limits, on_fall_back=on_fall_back)
    return Combination(door, own) if door is not None else own


def _made(file: PolicyFile, parameters: Mapping[str, object], limits: Limits) -> Child:
    child = _started(file, limits)
    try:
        values: dict[str, Any] = child.sheet.read(parameters)
        child.make(values)
    except PolicyError:
        child.end()
        raise
    except MisbehavedError as fault:
        child.end()
        raise _refused(file, fault) from None
    return child


def _started(file: PolicyFile, limits: Limits) -> Child:
    try:
        child = Child(file, limits)
    except MisbehavedError as fault:
        raise _refused(file, fault) from None
    remembered[file.sha256] = _Started(child.sheet, child.holding)
    remembered.move_to_end(file.sha256)
    if len(remembered) > REMEMBERED:
        remembered.popitem(last=False)
    return child


def _refused(file: PolicyFile, fault: MisbehavedError) -> PolicyError:
    return PolicyError(
        "policy", f"{file.name}: {fault}", "a policy as described in docs/own-policy.md"
    )
