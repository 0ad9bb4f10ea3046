"""The limits on what one person can use (allowances), and the limits of the whole lab.
`gateway.students.files` limits the size of a policy file, and `lab.spec.experiment` limits the
sizes in a spec.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

from lab.console.site.settings import LAB
from lab.errors import SpecError
from lab.wording import duration
from runtime.settings import SettingsError

VARIABLE = "DOORBUSTER_LAB_STUDENT_LIMITS"
MIB = 2**20
GIB = 2**30


class AllowanceError(SpecError):
    """The error raised if a person exceeds an allowance. The error's text comes from `refusal`."""


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


def _limit(title: str, write: Callable[[float], str] = _number) -> Any:
    return field(metadata={"title": title, "write": write})


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """The limits of one person. Times are in real seconds, except CPU times."""

    whose: str
    """`a student` or `a teacher`."""

    # Launches. The limits are checked before the runs of a spec are planned.
    runs_per_launch: int = _limit("Runs in one launch")
    expected_s_per_launch: int = _limit("Expected time of one launch", _seconds)
    own_policies_per_launch: int = _limit("Own policies in one launch")
    waiting_launches: int = _limit("Launches that wait in the queue")
    waiting_expected_s: int = _limit("Expected time of all launches that wait", _seconds)
    launches_per_minute: int = _limit("Launches in a minute")
    predictions_per_minute: int = _limit("Predictions of launch durations in a minute")

    # The process that carries out a simulated launch, with all its children.
    job_memory_bytes: int = _limit("Memory of one simulated launch", _bytes)
    job_least_s: int = _limit("CPU time that every simulated launch may use", _seconds)
    job_times_expected: int = _limit(
        "CPU time of a longer simulated launch, as a multiple of its expected CPU time"
    )

    # Uploads.
    uploads_per_minute: int = _limit("Spec and policy files sent in a minute")
    spec_bytes: int = _limit("Size of a spec file", _bytes)
    imports_per_hour: int = _limit("Bundles imported in an hour")
    bundle_bytes: int = _limit("Size of a bundle", _bytes)
    bundle_unpacked_bytes: int = _limit("Size of a bundle, unpacked", _bytes)
    bundle_files: int = _limit("Files in a bundle")
    bundle_rows: int = _limit("Rows of all raw logs in a bundle")

    # Downloads.
    downloads_per_minute: int = _limit("Downloads of bundles, tables, logs and pages in a minute")

    # Storage.
    kept_imports: int = _limit("Imported results that are kept")
    kept_import_bytes: int = _limit("Size of all imported results that are kept", _bytes)
    notes_per_hour: int = _limit("Notes written in an hour")
    notes_per_result: int = _limit("Notes on one result")

    def job_limit_s(self, expected_s: float) -> float:
        """Return the CPU seconds that all processes of a simulated launch may use together."""
        return max(self.job_least_s, self.job_times_expected * expected_s)


TEACHER = Allowance(
    whose="a teacher",
    runs_per_launch=20_000,
    expected_s_per_launch=72 * 3600,
    own_policies_per_launch=50,
    waiting_launches=100,
    waiting_expected_s=240 * 3600,
    launches_per_minute=30,
    predictions_per_minute=240,
    job_memory_bytes=8 * GIB,
    job_least_s=3600,
    job_times_expected=10,
    uploads_per_minute=30,
    spec_bytes=1 * MIB,
    imports_per_hour=200,
    bundle_bytes=256 * MIB,
    bundle_unpacked_bytes=4 * GIB,
    bundle_files=20_000,
    bundle_rows=50_000_000,
    downloads_per_minute=300,
    kept_imports=1_000,
    kept_import_bytes=50 * GIB,
    notes_per_hour=600,
    notes_per_result=200,
)
"""The limits of teachers, and of all people if there are no accounts.

The command line has these limits only with `--server`.
"""

_STUDENT = Allowance(
    whose="a student",
    runs_per_launch=2_000,
    expected_s_per_launch=30 * 60,
    own_policies_per_launch=10,
    waiting_launches=5,
    waiting_expected_s=60 * 60,
    launches_per_minute=10,
    predictions_per_minute=60,
    job_memory_bytes=1 * GIB,
    job_least_s=5 * 60,
    job_times_expected=3,
    uploads_per_minute=10,
    spec_bytes=64 * 2**10,
    imports_per_hour=10,
    bundle_bytes=64 * MIB,
    bundle_unpacked_bytes=512 * MIB,
    bundle_files=5_000,
    bundle_rows=5_000_000,
    downloads_per_minute=30,
    kept_imports=20,
    kept_import_bytes=1 * GIB,
    notes_per_hour=60,
    notes_per_result=20,
)

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
"""The maximum number of passwords that are checked at the same time. A check takes about 0.2 CPU
seconds."""


def limits() -> dict[str, str]:
    """Return the name and the title of each limit."""
    return {one.name: one.metadata["title"] for one in fields(Allowance) if one.metadata}


def written(limit: str, value: float) -> str:
    """Return the value of a limit as text: `2,000`, `30 min`, `64 MiB`."""
    return _write(limit)(value)


def _write(limit: str) -> Callable[[float], str]:
    found: Callable[[float], str] = Allowance.__dataclass_fields__[limit].metadata["write"]
    return found


def refusal(allowance: Allowance, limit: str, asked: float) -> str:
    """Return the text of a refusal: the limit, the requested and the allowed value, and who can
    raise the limit."""
    most, too_much = written(limit, getattr(allowance, limit)), written(limit, asked)
    if too_much == most:  # equal after rounding
        units: dict[Callable[[float], str], str] = {_bytes: " bytes", _seconds: " s"}
        unit = units.get(_write(limit), "")
        most, too_much = f"{getattr(allowance, limit):,}{unit}", f"{asked:,}{unit}"
    said = f"{limits()[limit]}: {too_much}; allowed: {most} for {allowance.whose}."
    return f"{said} {way_out(allowance, limit, 'do')}"


def way_out(allowance: Allowance, limit: str, do: str) -> str:
    """Return the sentence that explains what a person can do about a limit. `do` is the verb for a
    teacher's help, for example `launch`."""
    if allowance.whose == TEACHER.whose:
        return "Without --server, the command line `doorbuster` has no such limit."
    return f"A teacher can {do} it for you, or the administrator can raise {limit} in {VARIABLE}."


def require(allowance: Allowance, limit: str, asked: float) -> None:
    """Raise AllowanceError if `asked` is more than the limit with this name."""
    if not asked <= getattr(allowance, limit):  # also refuses nan
        raise AllowanceError(refusal(allowance, limit, asked))


def student(text: str) -> Allowance:
    """Return a student's allowance from the setting `text`, for example `runs_per_launch=5000
    bundle_files=9`.

    Raises SettingsError with a line for each fault.
    """
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
    return replace(_STUDENT, **changes)


STUDENT = student(LAB.lab_student_limits)
"""The allowance of this lab's students."""
