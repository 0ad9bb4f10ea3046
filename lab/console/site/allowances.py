"""The limits on what one person can use (allowances), and the limits of the whole lab.
`gateway.students.files` limits the size of a policy file, and `lab.spec.experiment` limits the
sizes in a spec.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

from lab.console.site.settings import LAB
from lab.errors import SpecError
from lab.wording import duration
from runtime.settings import SettingsError

VARIABLE = "DOORBUSTER_LAB_STUDENT_LIMITS"
MIB = 2**20
GIB = 2**30


def _bytes(number: float) -> str:
    for unit, size in (("GiB", GIB), ("MiB", MIB), ("KiB", 2**10)):
        if number >= size:
            return f"{number / size:,.4g} {unit}"
    return f"{number:,.0f} bytes"


def _seconds(number: float) -> str:
    if number <= 0:
        return "0 s"
    return duration(number) if math.isfinite(number) else "no end"


def _number(number: float) -> str:
    return f"{number:,.0f}"


def _limit(title: str, student: int, teacher: int, write: Callable[[float], str] = _number) -> Any:
    return field(metadata={"title": title, "write": write, "student": student, "teacher": teacher})


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """The limits of one person. Each declaration below has the number for a student, then the
    number for a teacher.

    If the console has no accounts, a teacher's limits hold for all people. The limits also hold for
    calls from the command line with `--server`. Times are in real seconds, except CPU times.
    """

    whose: str
    """`a student` or `a teacher`."""

    # Launches. The limits are checked before the runs of a spec are planned.
    runs_per_launch: int = _limit("Runs in one launch", 2_000, 20_000)
    expected_s_per_launch: int = _limit("Expected time of one launch", 30 * 60, 72 * 3600, _seconds)
    own_policies_per_launch: int = _limit("Own policies in one launch", 10, 50)
    waiting_launches: int = _limit("Launches that wait in the queue", 5, 100)
    waiting_expected_s: int = _limit(
        "Expected time of all launches that wait", 60 * 60, 240 * 3600, _seconds
    )
    launches_per_minute: int = _limit("Launches in a minute", 10, 30)
    predictions_per_minute: int = _limit("Predictions of launch durations in a minute", 60, 240)

    # The process that carries out a simulated launch, with all its children.
    job_memory_bytes: int = _limit("Memory of one simulated launch", 1 * GIB, 8 * GIB, _bytes)
    job_least_s: int = _limit(
        "CPU time that every simulated launch may use", 5 * 60, 3600, _seconds
    )
    job_times_expected: int = _limit(
        "CPU time of a longer simulated launch, as a multiple of its expected CPU time", 3, 10
    )

    # Uploads.
    uploads_per_minute: int = _limit("Spec and policy files sent in a minute", 10, 30)
    spec_bytes: int = _limit("Size of a spec file", 64 * 2**10, 1 * MIB, _bytes)
    imports_per_hour: int = _limit("Bundles imported in an hour", 10, 200)
    bundle_bytes: int = _limit("Size of a bundle", 64 * MIB, 256 * MIB, _bytes)
    bundle_unpacked_bytes: int = _limit("Size of a bundle, unpacked", 512 * MIB, 4 * GIB, _bytes)
    bundle_files: int = _limit("Files in a bundle", 5_000, 20_000)
    bundle_rows: int = _limit("Rows of all raw logs in a bundle", 5_000_000, 50_000_000)

    # Downloads.
    downloads_per_minute: int = _limit(
        "Downloads of bundles, tables, logs and pages in a minute", 30, 300
    )

    # Storage.
    kept_imports: int = _limit("Imported results that are kept", 20, 1_000)
    kept_import_bytes: int = _limit(
        "Size of all imported results that are kept", 1 * GIB, 50 * GIB, _bytes
    )
    notes_per_hour: int = _limit("Notes written in an hour", 60, 600)
    notes_per_result: int = _limit("Notes on one result", 20, 200)

    def job_limit_s(self, expected_s: float) -> float:
        """Return the CPU seconds that all processes of a simulated launch may use together."""
        return max(self.job_least_s, self.job_times_expected * expected_s)


_LIMITS: Final = {one.name: one.metadata for one in fields(Allowance) if one.metadata}


def _of(role: str) -> Allowance:
    return Allowance(whose=f"a {role}", **{name: one[role] for name, one in _LIMITS.items()})


TEACHER = _of("teacher")

# ---- limits of the whole lab ---------------------------------------------------------------------

QUEUED_LAUNCHES = 200
"""The maximum number of waiting launches of all people together."""
DOWNLOADS_AT_ONCE = 2
"""The maximum number of downloads that are packed at the same time. Each download can keep a CPU
busy for a minute.
"""
FREE_DISK_BYTES = 1 * GIB
"""The disk space that must stay free after an import, in bytes."""

# ---- before a login ------------------------------------------------------------------------------

LOGINS_WITHIN_S = 300
"""The time for which a wrong password counts, in real seconds."""
LOGINS_PER_NAME = 5
"""The maximum number of wrong passwords for one name from one address."""
LOGINS_PER_ADDRESS = 50
"""The maximum number of wrong passwords from one address for all names together. This number is
higher because a class can share an address."""
PASSWORDS_AT_ONCE = 2
"""The maximum number of simultaneous password checks, of about 0.2 CPU seconds each."""


def limits() -> dict[str, str]:
    """Return the name and the title of each limit."""
    return {name: one["title"] for name, one in _LIMITS.items()}


def written(limit: str, value: float) -> str:
    """Return the value of a limit as text: `2,000`, `30 min`, `64 MiB`."""
    return str(_LIMITS[limit]["write"](value))


class AllowanceError(SpecError):
    """The error raised if a person exceeds an allowance. The text has the limit, the requested and
    the allowed value, and what the person can do about the limit.
    """

    def __init__(self, allowance: Allowance, limit: str, asked: float) -> None:
        most, too_much = written(limit, getattr(allowance, limit)), written(limit, asked)
        if too_much == most:  # equal after rounding
            unit = {_bytes: " bytes", _seconds: " s"}.get(_LIMITS[limit]["write"], "")
            most, too_much = f"{getattr(allowance, limit):,}{unit}", f"{asked:,}{unit}"
        super().__init__(f"{limits()[limit]}: {too_much}", allowed=f"{most} for {allowance.whose}")
        self._way_out = way_out(allowance, limit, "do")

    def __str__(self) -> str:
        return f"{super().__str__()}. {self._way_out}"


def way_out(allowance: Allowance, limit: str, do: str) -> str:
    """Return the sentence that explains what a person can do about a limit. `do` is the verb for a
    teacher's help, for example `launch`."""
    if allowance.whose == TEACHER.whose:
        return "Without --server, the command line `doorbuster` has no such limit."
    return f"A teacher can {do} it for you, or the administrator can raise {limit} in {VARIABLE}."


def require(allowance: Allowance, limit: str, asked: float) -> None:
    """Raise AllowanceError if `asked` is more than the limit with this name."""
    if not asked <= getattr(allowance, limit):  # also refuses nan
        raise AllowanceError(allowance, limit, asked)


def student(text: str) -> Allowance:
    """Return a student's allowance from the setting `text`, for example `runs_per_launch=5000
    bundle_files=9`. Raises SettingsError with a line for each fault."""
    changes: dict[str, Any] = {}
    faults = []
    for word in text.replace(",", " ").split():
        name, _, value = word.partition("=")
        if name not in limits():
            faults.append(f"{name!r:.60} is not a limit; allowed: {', '.join(limits())}")
            continue
        most = getattr(TEACHER, name)
        is_whole = value.isascii() and value.isdigit() and len(value) < 20
        if not is_whole or not 1 <= int(value) <= most:
            faults.append(
                f"{name}={value:.60}: must be a whole number from 1 to {most}, "
                "the limit of a teacher"
            )
            continue
        changes[name] = int(value)
    if faults:
        raise SettingsError("\n".join(f"{VARIABLE}: {fault}" for fault in faults))
    return replace(_of("student"), **changes)


STUDENT = student(LAB.lab_student_limits)
"""The allowance of this lab's students."""
