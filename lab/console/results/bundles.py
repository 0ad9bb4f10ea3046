"""A result as one ZIP file, which another machine can import."""

import hashlib
import lzma
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any
from xml.etree import ElementTree

from gateway.policies import FILE_SUFFIX
from gateway.students import files
from lab.analysis import logs
from lab.analysis.logs import TooManyRowsError
from lab.bundle import extras
from lab.errors import ExperimentError, SpecError
from lab.files import documents
from lab.report.seal import sealed
from lab.results.comparison import ComparisonResult
from lab.results.result import IMPORTED
from lab.spec.own_policies import COPIES, named_in

NOTES_FILE = "notes.json"
"""The file with the notes. It exists only in bundles; the console keeps notes in its database."""
_NOT_COPIED = {IMPORTED, NOTES_FILE, *extras.NAMES}
_NOT_UNPACKED = {IMPORTED, *extras.NAMES}
MOST_TEXT_BYTES = 16 * 2**20
"""The largest size of one report, picture or log in a bundle, in bytes."""
MOST_EVENTS = 50_000
"""The highest number of events in all runs together. Each event is a row of the results database.
"""
MOST_READING_S = 2.0
"""The maximum CPU time, in seconds, for reading one file of a result."""
_TEXTS = {".html", ".svg", ".md", ".csv", ".log", ".cfg", ".conf", ".toml"}
_SUFFIXES = {
    *(".toml", ".json", ".jsonl", ".parquet", ".csv", ".log"),
    *(".cfg", ".conf"),  # the configuration of a baseline proxy
    *(".png", ".svg", ".md", ".html"),
}
_UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError),
    *(NotImplementedError, RuntimeError, ValueError, OverflowError),
)
"""The exceptions that `zipfile` raises if the file is damaged, encrypted, or not a ZIP file."""
_POLICY = re.compile(rf"[^/]+/{COPIES}/[^/]+\.py")
"""The pattern for paths of copied policies. A copied policy runs only in a separate process."""
_NAME = re.compile(r"\w[\w.+, -]{0,150}(?<![ .])")
"""The pattern for the name of a file or folder. Spaces are allowed, because a folder's name can
contain a policy's label. Separators and `..` are not allowed, because they can lead to other
folders.
"""


def is_name(part: str) -> bool:
    """Return whether a text is a valid name of one file or folder, without a path."""
    return _NAME.fullmatch(part) is not None


class TooLargeError(Exception):
    """The error raised if the unpacked files of a result are too large for a bundle."""

    def __init__(self, size_bytes: int) -> None:
        super().__init__(size_bytes)
        self.size_bytes = size_bytes


def write(folder: Path, to: IO[bytes], most_bytes: int, notes: bytes = b"") -> None:
    """Write the bundle of a result folder, with the notes that `notes.packed` returns.

    Raises TooLargeError if the files together are larger than `most_bytes`, because no console
    would import such a bundle. The bundle omits unfinished files. It also omits files without a
    suffix, such as `load-factor`, because they control a run in progress. `lab.bundle.extras` adds
    further files.
    """
    paths = {path.relative_to(folder).as_posix(): path for path in files_of(folder)}
    sizes = {name: path.stat().st_size for name, path in paths.items()}
    written = {NOTES_FILE: notes} if notes else {}
    written |= extras.of(folder, sizes | {name: len(text) for name, text in written.items()})
    size_bytes = sum(sizes.values()) + sum(map(len, written.values()))
    if size_bytes > most_bytes:
        raise TooLargeError(size_bytes)
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as bundle:
        for name, path in paths.items():
            bundle.write(path, f"{folder.name}/{name}")
        for name, text in written.items():
            bundle.writestr(f"{folder.name}/{name}", text)


def unpack(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Unpack the bundle `file` into the folder `place`, and check its whole content.

    The function runs in a child process with limits (`common.bounded`). `limits` has the maximum of
    each count: `files`, unpacked `bytes`, `rows` of all raw logs, `runs` and `spec_bytes`. The
    function returns the `name` of the result folder and its `size_bytes`. If the bundle exceeds a
    limit, the function instead returns the name of the limit as `over` and the bundle's value as
    `size`.

    Raises SpecError if the file is not a valid bundle.
    """
    place, limits = Path(asked["place"]), asked["limits"]
    try:
        with zipfile.ZipFile(asked["file"]) as bundle:
            name = checked(bundle, limits)
            size_bytes = _unpack(bundle, place, limits["bytes"])
            _check_result(place / name, limits)
    except _OverError as over:
        return {"over": over.limit, "size": over.size}
    except _UNREADABLE as fault:
        raise SpecError(
            "bundle", f"cannot be read ({fault})", allowed="a ZIP file that a console packed"
        ) from None
    except OSError as fault:  # a full disk, or one name for a file and a folder
        raise SpecError("bundle", f"cannot be unpacked ({fault.strerror or fault})") from None
    return {"name": name, "size_bytes": size_bytes}


class _OverError(Exception):
    def __init__(self, limit: str, size: int) -> None:
        super().__init__(limit)
        self.limit, self.size = limit, size


def files_of(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        is_being_written = path.name.startswith(".") or not path.suffix
        # The console itself supplies the origin of the result and the notes in its database. The
        # release that packs a bundle supplies the extras.
        is_mark = path.parent == folder and path.name in _NOT_COPIED
        if path.is_file() and not path.is_symlink() and not is_being_written and not is_mark:
            yield path


def checked(bundle: zipfile.ZipFile, limits: Mapping[str, int]) -> str:
    """Check the names and sizes of a bundle's files, and return the name of its only folder."""
    entries = bundle.infolist()
    if len(entries) > limits["files"]:
        raise _OverError("files", len(entries))
    size_bytes = sum(entry.file_size for entry in entries)
    if size_bytes > limits["bytes"]:
        raise _OverError("bytes", size_bytes)
    for entry in entries:
        _check_entry(entry)
    names = {PurePosixPath(entry.filename).parts[0] for entry in entries}
    if len(names) != 1:
        raise SpecError(
            "bundle", "must hold exactly one result folder", allowed="a file that a console packed"
        )
    return names.pop()


def _check_entry(entry: zipfile.ZipInfo) -> None:
    path, told = PurePosixPath(entry.filename), f"{entry.filename!r:.80}"
    is_link = stat.S_ISLNK(entry.external_attr >> 16)
    if is_link or not path.parts or not all(map(is_name, path.parts)):
        raise SpecError(
            "bundle",
            f"{told} is not a valid name in a result folder",
            allowed="letters, digits, spaces and _ . + , - in each part of the path",
        )
    is_part = (
        path.suffix in _SUFFIXES
        or path.parts[1:] == (extras.NOTEBOOK,)
        or _POLICY.fullmatch(entry.filename)
    )
    if not entry.is_dir() and (len(path.parts) < 2 or not is_part):
        raise SpecError(
            "bundle",
            f"{told} does not belong to a result",
            allowed=f"files of one folder that end with {', '.join(sorted(_SUFFIXES))}",
        )
    if path.suffix == FILE_SUFFIX:
        kind, most_bytes = "policy", files.MOST_BYTES
    elif path.suffix in _TEXTS:
        kind, most_bytes = f"{path.suffix} file", MOST_TEXT_BYTES
    else:
        return
    if entry.file_size > most_bytes:
        raise SpecError(
            "bundle",
            f"{told} has {entry.file_size:,} bytes",
            allowed=f"a {kind} of at most {most_bytes:,} bytes",
        )


def _unpack(bundle: zipfile.ZipFile, place: Path, most_bytes: int) -> int:
    size_bytes = 0
    for entry in bundle.infolist():
        target = place / entry.filename
        if entry.is_dir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        if target.name in _NOT_UNPACKED and target.parent.parent == place:
            continue  # this console writes a new mark, and new extras into the next bundle
        target.parent.mkdir(parents=True, exist_ok=True)
        with bundle.open(entry) as source, target.open("xb") as copy:
            while block := source.read(1 << 20):  # the directory may state a false size
                size_bytes += len(block)
                if size_bytes > most_bytes:
                    raise _OverError("bytes", size_bytes)
                copy.write(block)
    return size_bytes


def _check_own(folder: Path) -> None:
    """Check that the bundle contains each policy file that its spec names. Otherwise, the spec's
    path could lead to a file on this machine."""
    spec = folder / "spec.toml"
    with _quick(folder, "spec.toml"):
        text = spec.read_text(encoding="utf-8", errors="replace") if spec.is_file() else ""
        named = named_in(text)
    copies = {
        hashlib.sha256(path.read_bytes()).hexdigest() for path in (folder / COPIES).glob("*.py")
    }
    for path, sha256 in named:
        if sha256 not in copies:
            raise SpecError(
                "bundle", f"policy {path!r:.80} is missing", allowed=f"copies in {COPIES}/"
            )


def _check_result(folder: Path, limits: Mapping[str, int]) -> None:
    is_report = (folder / "reproduction.json").is_file()
    if not is_report and not (folder / "plan.json").is_file():
        raise SpecError(
            "bundle", "holds no result", allowed="a bundle with plan.json or reproduction.json"
        )
    spec = folder / "spec.toml"
    if spec.is_file() and spec.stat().st_size > limits["spec_bytes"]:
        raise _OverError("spec_bytes", spec.stat().st_size)
    try:
        _check_texts(folder)
        if (folder / "plan.json").is_file():
            _check_plan(folder, limits)
        logs.check(folder, limits["rows"])
    except TooManyRowsError as fault:
        raise _OverError("rows", fault.rows) from None
    except ExperimentError as fault:
        if isinstance(fault, SpecError) and fault.faults[0].field == "bundle":
            raise
        raise SpecError("bundle", str(fault).replace(f"{folder.parent}/", "")) from None


def _check_texts(folder: Path) -> None:
    """Check that every file that the pages read has the right form and can be read quickly."""
    events = 0
    for path in sorted(folder.rglob("*")):
        with _quick(folder, path.relative_to(folder)):
            if path.suffix == ".json":
                documents.read_json(path)
            elif path.suffix == ".jsonl":
                events += len(documents.read_json_lines(path))
                if events > MOST_EVENTS:
                    raise SpecError(
                        "bundle",
                        f"{path.relative_to(folder.parent)}: more than {MOST_EVENTS:,} events in "
                        "all runs",
                        allowed=f"at most {MOST_EVENTS:,}",
                    )
            elif path.suffix == ".html":
                text = path.read_text(encoding="utf-8", errors="replace")
                path.write_text(sealed(text), encoding="utf-8")
            elif path.suffix == ".svg":
                _check_picture(path)


def _check_plan(folder: Path, limits: Mapping[str, int]) -> None:
    result = ComparisonResult.open(folder)
    planned = result.plan()
    if len(planned) > limits["runs"]:
        raise _OverError("runs", len(planned))
    _check_own(folder)
    with _quick(folder, "spec.toml"):
        known = {choice.key for choice in result.spec().policy}
    for run in planned:
        if run.policy not in known or not is_name(run.folder):
            raise SpecError(
                "bundle",
                f"the plan has the run {run.folder!r:.80}",
                allowed="runs of the policies in the bundle's spec",
            )


@contextmanager
def _quick(folder: Path, name: str | Path) -> Iterator[None]:
    """Raise SpecError if reading the file takes too long, because pages read it often."""
    began_s = _cpu_s()
    yield
    took_s = _cpu_s() - began_s
    if took_s > MOST_READING_S:
        raise SpecError(
            "bundle",
            f"{folder.name}/{name} takes {took_s:.1f} s of CPU time to read",
            allowed=f"at most {MOST_READING_S:g} s",
        )


def _cpu_s() -> float:
    return sum(os.times()[:4])


_ACTIVE = {
    *("script", "foreignobject", "iframe", "object", "embed", "handler", "listener"),
    *("animate", "animatemotion", "animatetransform", "set"),
}
"""The SVG elements that can run scripts, include other pages, or turn a link into a script."""
_REFUSED_IN_SVG = (b"<!ENTITY", b"<?xml-stylesheet", b"\0")
"""The texts that an SVG must not contain, because they introduce entities, style sheets (which can
contain scripts), or encodings other than UTF-8."""


def _check_picture(path: Path) -> None:
    """Raise SpecError if an SVG has scripts, loads other files or cannot be read. A browser would
    run the scripts of a downloaded picture."""
    found = path.relative_to(path.parents[1]).as_posix()
    content = path.read_bytes()
    for part in _REFUSED_IN_SVG:
        if part in content:
            raise SpecError(
                "bundle", f"{found!r:.80} has {part!r}", allowed="an SVG without this text"
            )
    try:
        for _, one in ElementTree.iterparse(path, ("start",)):
            name = str(one.tag).rpartition("}")[2].lower()
            attributes = {
                str(key).rpartition("}")[2].lower(): value for key, value in one.attrib.items()
            }
            link = attributes.get("href", "").strip().lower()
            is_elsewhere = link and not link.startswith(("#", "data:image/png", "data:image/jpeg"))
            if (
                name in _ACTIVE
                or any(key.startswith("on") for key in attributes)
                or (is_elsewhere and name != "a")
                or link.startswith("javascript:")
            ):
                raise SpecError(
                    "bundle",
                    f"{found!r:.80} has a script, an active element or a reference to "
                    f"another file ({name})",
                    allowed="pictures that run no scripts and load no other files",
                )
    except ElementTree.ParseError as fault:
        raise SpecError("bundle", f"{found!r:.80} is not an SVG ({fault})") from None
