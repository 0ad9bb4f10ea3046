"""A result as one file: taken away, and brought to another machine.

Owns: the form of a bundle (a ZIP of the result folder under one name), and what is refused in one.
Must not know: pages, what is in a result.
"""

import hashlib
import lzma
import os
import re
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from gateway.students import files
from lab.console.file_names import is_name
from lab.experiments.errors import SpecError
from lab.experiments.own_policies import COPIES, named_in
from lab.experiments.results import ResultFolder

MOST_FILES = 20_000
MOST_BYTES = 4 * 2**30
"""Unpacked."""
_SUFFIXES = {
    *(".toml", ".json", ".jsonl", ".parquet", ".csv", ".log"),
    *(".cfg", ".conf"),  # what a peer in the gateway's place ran with
    *(".png", ".svg", ".md", ".html"),
}
_UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError),
    *(NotImplementedError, RuntimeError, ValueError, OverflowError),
)
"""What the library raises of a file that is no ZIP, a damaged or an encrypted one."""
_POLICY = re.compile(rf"[^/]+/{COPIES}/[^/]+\.py")
"""A copy of a student's own; it is never run but in a process apart."""


def write(folder: Path, to: IO[bytes]) -> None:
    """The bundle of a result folder.

    Files that are being written are left out, and those without a suffix: they steer a run that
    is under way (`load-factor`), and stay behind where one was killed.
    """
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as bundle:
        for path in _files(folder):
            bundle.write(path, f"{folder.name}/{path.relative_to(folder).as_posix()}")


def read(file: IO[bytes], results_dir: Path) -> Path:
    """Unpack a bundle as a result of its own; whole or not at all.

    Raises SpecError for what is no bundle: another format, other kinds of files, paths that lead
    elsewhere, more than MOST_FILES or MOST_BYTES, a result that is here already.
    """
    try:
        with zipfile.ZipFile(file) as bundle:
            name = _checked(bundle)
            target = results_dir / name
            if target.exists():
                raise SpecError(f"bundle: {name} is here already; delete it first")
            results_dir.mkdir(parents=True, exist_ok=True)
            place = Path(tempfile.mkdtemp(prefix=".import-", dir=results_dir))
            try:
                _unpack(bundle, place)
                _check_result(place / name)
                os.replace(place / name, target)
            finally:
                shutil.rmtree(place, ignore_errors=True)
    except _UNREADABLE as fault:
        raise SpecError(
            f"bundle: cannot be read ({fault}); allowed: a ZIP as the console gives it"
        ) from None
    except OSError as fault:  # a full disk; one name for a file and a folder
        raise SpecError(f"bundle: cannot be unpacked ({fault.strerror or fault})") from None
    return target


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        is_being_written = path.name.startswith(".") or not path.suffix
        if path.is_file() and not path.is_symlink() and not is_being_written:
            yield path


def _checked(bundle: zipfile.ZipFile) -> str:
    """The one folder in it."""
    entries = bundle.infolist()
    if len(entries) > MOST_FILES:
        raise SpecError(f"bundle: {len(entries):,} files; allowed: at most {MOST_FILES:,}")
    size_bytes = sum(entry.file_size for entry in entries)
    if size_bytes > MOST_BYTES:
        raise SpecError(
            f"bundle: {size_bytes / 2**30:.1f} GiB unpacked; allowed: {MOST_BYTES / 2**30:g}"
        )
    names = set()
    for entry in entries:
        path = PurePosixPath(entry.filename)
        is_link = stat.S_ISLNK(entry.external_attr >> 16)
        if (
            path.is_absolute()
            or "\\" in entry.filename
            or is_link
            or not all(map(is_name, path.parts))
        ):
            raise SpecError(f"bundle: {entry.filename!r:.80} is no name in a result folder")
        is_part = path.suffix in _SUFFIXES or _POLICY.fullmatch(entry.filename)
        if not entry.is_dir() and (len(path.parts) < 2 or not is_part):
            raise SpecError(
                f"bundle: {entry.filename!r:.80} is no part of a result; allowed: files of "
                f"one folder that end with {', '.join(sorted(_SUFFIXES))}"
            )
        if path.suffix == files.SUFFIX and entry.file_size > files.MOST_BYTES:
            raise SpecError(
                f"bundle: {entry.filename!r:.80} has {entry.file_size:,} bytes; "
                f"allowed: a policy of at most {files.MOST_BYTES:,}"
            )
        names.add(path.parts[0])
    if len(names) != 1:
        raise SpecError("bundle: holds not one result folder; allowed: what the console gave")
    return names.pop()


def _unpack(bundle: zipfile.ZipFile, place: Path) -> None:
    left_bytes = MOST_BYTES
    for entry in bundle.infolist():
        target = place / entry.filename
        if entry.is_dir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with bundle.open(entry) as source, target.open("wb") as copy:
            while block := source.read(1 << 20):  # what the directory says of a size may be a lie
                left_bytes -= len(block)
                if left_bytes < 0:
                    raise SpecError("bundle: larger than it says")
                copy.write(block)


def _check_own(folder: Path) -> None:
    """A bundle's spec must mean its own copies: no path of this machine is read for it."""
    spec = folder / "spec.toml"
    named = named_in(spec.read_text(encoding="utf-8", errors="replace")) if spec.is_file() else []
    copies = {
        hashlib.sha256(path.read_bytes()).hexdigest() for path in (folder / COPIES).glob("*.py")
    }
    for path, sha256 in named:
        if sha256 not in copies:
            raise SpecError(
                f"bundle: policy {path!r:.80} is not in it; allowed: copies in {COPIES}/"
            )


def _check_result(folder: Path) -> None:
    if (folder / "reproduction.json").is_file():
        return
    if not (folder / "plan.json").is_file():
        raise SpecError("bundle: holds no result (neither plan.json nor reproduction.json)")
    _check_own(folder)
    result = ResultFolder.open(folder)
    known = {choice.key for choice in result.spec().policy}
    for planned in result.plan():
        if planned.policy not in known or not is_name(planned.folder):
            raise SpecError(f"bundle: its plan has a run {planned.folder!r:.80} of no policy")
    for _, run in result.whole_runs():
        run.attempts()
