"""The import of results from other machines. A child process with limits unpacks and checks the
bundle. The console writes the mark and chooses a name that no later result will have."""

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final

from common import bounded
from common.bounded import BoundedError, Bounds, BoundsExceededError
from lab.console.results.result_list import DELETED
from lab.console.site import allowances, rates
from lab.console.site.allowances import Allowance, AllowanceError
from lab.console.site.rates import ActionLimit, BusyError
from lab.errors import SpecError
from lab.results.result import Imported, began_at_of

_TURN_S: Final = 60.0
_MEMORY_BYTES: Final = 512 * 2**20
"""The memory limit, in bytes, for reading a bundle of any size piece by piece."""
_LIMITS: Final = {
    "files": "bundle_files",
    "rows": "bundle_rows",
    "runs": "runs_per_launch",
    "spec_bytes": "spec_bytes",
}
"""For each count in a bundle, the name of its limit in `allowances`."""
_ACTION_LIMIT: Final = ActionLimit(2)
_UNDER_WAY: Final = ".import-"


def bring(file: IO[bytes], results_dir: Path, *, by: str, key: str, allowance: Allowance) -> Path:
    """Unpack a bundle as an imported result of `by`, completely or not at all.

    The hourly limit counts imports with the same `key`. Raises AllowanceError if a limit is
    reached, and another SpecError if the bundle cannot be read or kept.
    """
    with _turn(key):
        kept = kept_by(results_dir, by)
        allowances.require(allowance, "kept_imports", len(kept) + 1)
        rates.spend(allowance, "imports_per_hour", key)
        results_dir.mkdir(parents=True, exist_ok=True)
        place = Path(tempfile.mkdtemp(prefix=_UNDER_WAY, dir=results_dir))
        try:
            sha256 = _copied(file, place / "bundle.zip")
            found = _unpacked(place, allowance, sum(mark.size_bytes for mark in kept))
            now = datetime.now(UTC)
            target = results_dir / name_for(found["name"], now)
            if target.exists():
                raise SpecError(
                    "bundle", f"the lab already has {target.name}; delete that result first"
                )
            source = place / "result" / found["name"]
            at = now.isoformat(timespec="seconds")
            Imported(by=by, at=at, sha256=sha256, size_bytes=found["size_bytes"]).write(source)
            os.replace(source, target)
            return target
        except OSError as fault:
            raise SpecError("bundle", f"cannot be kept ({fault.strerror or fault})") from None
        finally:
            shutil.rmtree(place, ignore_errors=True)


def remove_left_overs(results_dir: Path) -> None:
    """Remove the folders of imports and deletions that did not end because the console was killed.
    Call this before the console starts."""
    for kind in (_UNDER_WAY, DELETED):
        for folder in results_dir.glob(f"{kind}*"):
            shutil.rmtree(folder, ignore_errors=True)


def kept_by(results_dir: Path, person: str) -> list[Imported]:
    """Return the marks of all results that this person has imported."""
    marks = (Imported.read(path.parent) for path in results_dir.glob("[!.]*/imported.json"))
    return [mark for mark in marks if mark is not None and mark.by == person]


def name_for(told: str, now: datetime) -> str:
    """Return the name for an imported result that was called `told`. A name that begins with a date
    in the past stays unchanged. Any other name gets the present time, so that the result cannot
    take a later result's name or stay first in the list.
    """
    began_at = began_at_of(told)
    if began_at is not None and began_at <= now:
        return told
    words = re.sub(r"^\d{8}T\d{6}Z-?", "", told, flags=re.ASCII)
    words = re.sub(r"[^\w.-]+", "-", words).strip("-. ")[:100]
    return f"{now:%Y%m%dT%H%M%SZ}-{words or 'imported'}"


def _copied(file: IO[bytes], to: Path) -> str:
    digest = hashlib.sha256()
    with to.open("wb") as copy:
        while block := file.read(1 << 20):
            digest.update(block)
            copy.write(block)
    return digest.hexdigest()


def _unpacked(place: Path, allowance: Allowance, kept_bytes: int) -> dict[str, Any]:
    """Unpack the bundle in a child process, and return the answer of `bundles.unpack`. Raises
    AllowanceError if the bundle exceeds a limit of the person, and another SpecError if it
    cannot be read or the disk has too little free space."""
    (place / "result").mkdir()
    of_bytes = {
        "bundle_unpacked_bytes": allowance.bundle_unpacked_bytes,
        "kept_import_bytes": allowance.kept_import_bytes - kept_bytes,
        "free": shutil.disk_usage(place).free - allowances.FREE_DISK_BYTES,
    }
    limit, least_bytes = min(of_bytes.items(), key=lambda one: one[1])
    most_bytes = max(0, least_bytes)
    asked = {
        "file": str(place / "bundle.zip"),
        "place": str(place / "result"),
        "limits": {name: getattr(allowance, known) for name, known in _LIMITS.items()}
        | {"bytes": most_bytes},
    }
    minutes = 1 + allowance.bundle_rows // 20_000_000
    bounds = Bounds(
        memory_bytes=_MEMORY_BYTES,
        cpu_s=60 * minutes,
        wall_s=120 * minutes,
        file_bytes=most_bytes,
    )
    try:
        found: dict[str, Any] = bounded.call("lab.console.results.bundles:unpack", asked, bounds)
    except BoundsExceededError as fault:
        raise SpecError(
            "bundle",
            f"cannot be read within the console's limits: {fault}",
            allowed="a bundle that a console has packed",
        ) from None
    except BoundedError as fault:
        raise SpecError.of_child(fault) from None
    if "over" not in found:
        return found
    if found["over"] != "bytes":
        raise AllowanceError(allowance, _LIMITS[found["over"]], found["size"])
    if limit == "free":
        floor = allowances.written("bundle_bytes", allowances.FREE_DISK_BYTES)
        raise SpecError(
            "bundle",
            "the disk has too little free space",
            allowed=f"imports that leave {floor} free. Delete results that you no longer need.",
        )
    size_bytes = found["size"] + (kept_bytes if limit == "kept_import_bytes" else 0)
    raise AllowanceError(allowance, limit, size_bytes)


@contextmanager
def _turn(key: str) -> Iterator[None]:
    """Hold a turn for an import. One person can have at most one turn at a time, and all people
    together at most two."""
    try:
        with _ACTION_LIMIT.turn(key, _TURN_S):
            yield
    except BusyError as busy:
        raise SpecError(
            "bundle",
            "another import of yours is running; wait until it has ended"
            if busy.is_own
            else "the console is reading other bundles; try again in a minute",
        ) from None
