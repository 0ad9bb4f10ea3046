"""The functions that find a policy's data sheet, or create the policy, from its name."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

from gateway.policies import (
    ADMISSIONS,
    CONNECTION_ADMISSIONS,
    NO_ADMISSION,
    POLICIES,
    Entry,
    PolicyError,
    find,
)
from gateway.policies.admission import Admission, Combination
from gateway.policies.connection_admission import ConnectionAdmission
from gateway.policies.interface import Policy
from gateway.policies.sheet import Sheet


def import_all() -> None:
    """Import the module of every policy, so that no request waits for an import later."""
    for entry in (*POLICIES.values(), *ADMISSIONS.values(), *CONNECTION_ADMISSIONS.values()):
        _module(entry)


def sheet(name: str) -> Sheet:
    """Return the data sheet of the queueing policy `name`; raise PolicyError if the name is
    unknown.
    """
    return _sheet(find(name, POLICIES, "policy"))


def admission_sheet(name: str) -> Sheet:
    """Return the data sheet of the admission policy `name`; raise PolicyError if the name is
    unknown.
    """
    return _sheet(find(name, ADMISSIONS, "admission"))


def connection_admission_sheet(name: str) -> Sheet:
    """Return the data sheet of the connection admission policy `name`; raise PolicyError if the
    name is unknown.
    """
    return _sheet(find(name, CONNECTION_ADMISSIONS, "connection_admission"))


def create(
    name: str,
    parameters: Mapping[str, object],
    admission: str = NO_ADMISSION,
    admission_parameters: Mapping[str, object] | None = None,
) -> Policy:
    """Return a new queueing policy combined with a new admission policy; omitted parameters have
    their defaults. Raises PolicyError if a policy or a parameter is unknown or invalid. The error's
    field is `policy`, `parameters.<name>`, `admission` or `admission_parameters.<name>`.
    """
    values = sheet(name).read(parameters)
    queueing: Policy = _make(POLICIES[name])(**values)
    door = create_admission(admission, admission_parameters or {})
    return Combination(door, queueing) if door is not None else queueing


def create_admission(name: str, parameters: Mapping[str, object]) -> Admission | None:
    """Return a new admission policy, or None for `none`; raises PolicyError as `create` does."""
    known = admission_sheet(name)
    with _named("admission"):
        made: Admission | None = _make(ADMISSIONS[name])(**known.read(parameters))
        return made


def create_connection_admission(
    name: str, parameters: Mapping[str, object] | None = None
) -> ConnectionAdmission:
    """Return a new connection admission policy; omitted parameters have their defaults.

    Raises PolicyError as `create` does, with the field `connection_admission` or
    `connection_admission_parameters.<name>`.
    """
    known = connection_admission_sheet(name)
    with _named("connection_admission"):
        values = known.read(parameters or {})
        made: ConnectionAdmission = _make(CONNECTION_ADMISSIONS[name])(**values)
        return made


@contextmanager
def _named(kind: str) -> Iterator[None]:
    try:
        yield
    except PolicyError as error:
        raise PolicyError(f"{kind}_{error.field}", error.message, error.allowed) from None


def describe(among: Mapping[str, Entry]) -> list[dict[str, object]]:
    """Return the data sheets of all policies in `among` as values that JSON can express."""
    return [_sheet(entry).as_dict() for entry in among.values()]


def _module(entry: Entry) -> ModuleType:
    return import_module(f"gateway.policies.{entry.module}")


def _sheet(entry: Entry) -> Sheet:
    found: Sheet = getattr(_module(entry), entry.sheet)
    return found


def _make(entry: Entry) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(_module(entry), entry.make)
    return found
