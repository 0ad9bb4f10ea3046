"""The files of students' policies. A file is named by its path, and identified by the digest of its
content. This module checks the names, reads the files, and finds a text by its digest.
"""

import errno
import os
import stat
import unicodedata
from collections import OrderedDict
from functools import lru_cache
from pathlib import Path
from typing import Final

from gateway.policies import ADMISSIONS, FILE_SUFFIX, POLICIES, PolicyError, stem
from gateway.students import process
from gateway.students.calls import MisbehavedError, PolicyFile
from gateway.students.limits import OF_READING

FOLDER: Final = "own"
"""The subfolder of the working folder in which `make new-policy` creates policies."""
MOST_BYTES: Final = 128 * 1024
MOST_NAME: Final = 1000
MOST_STEM: Final = 80
"""The maximum length of a file name without its ending, in characters. Metrics use the name as the
value of a label.
"""
REMEMBERED: Final = 256


def listed(folder: Path = Path(FOLDER)) -> list[str]:
    """Return the names of the students' policies in the folder, without their tests."""
    return sorted(
        str(path)
        for path in folder.glob(f"[!._]*{FILE_SUFFIX}")
        if not path.name.startswith("test_") and path.stem.isidentifier()
    )


def read(name: str) -> PolicyFile:
    """Return the file at this path. Raises PolicyError if the name is invalid, or if the file is
    unreadable, too large or impure; the message names the first impure line.
    """
    _check_name(name)
    return checked(opened(name))


def opened(name: str) -> PolicyFile:
    """Return the file at this path, pure or not; raise PolicyError if it is not a readable text."""
    try:
        content = _content(Path(name))
    except OSError as fault:
        allowed = ", ".join(listed()) or "the path of a policy; make new-policy NAME=… creates one"
        raise PolicyError("policy", f"{name}: {fault.strerror}", allowed) from None
    try:
        return PolicyFile(name, content.decode())
    except UnicodeDecodeError:
        allowed = "Python source, UTF-8"
        raise PolicyError("policy", f"{name}: must be a text file", allowed) from None


def _content(path: Path) -> bytes:
    """Return at most `MOST_BYTES` + 1 bytes of a regular file. Other kinds of files are not read,
    because reading them might never end.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "is not a regular file")
    with open(descriptor, "rb") as opened:
        return opened.read(MOST_BYTES + 1)


def checked(file: PolicyFile) -> PolicyFile:
    """Return the file, and remember it; raise PolicyError if it is invalid or impure."""
    check_form(file)
    if found := impurities(file):
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise PolicyError(
            "policy",
            f"{file.name}: {found[0]}{more}",
            "a pure policy; `doorbuster policy check` lists all faults",
        )
    remember(file)
    return file


def check_form(file: PolicyFile) -> None:
    """Raise PolicyError if the name or the size of a file is invalid, or if it is not a text."""
    _check_name(file.name)
    try:
        size_bytes = len(file.text.encode())
    except UnicodeEncodeError:  # half of a surrogate pair, which is possible in JSON
        raise PolicyError(
            "policy", f"{file.name}: must be a text file", "Python source, UTF-8"
        ) from None
    if size_bytes > MOST_BYTES:
        allowed = f"at most {MOST_BYTES:,} bytes"
        raise PolicyError("policy", f"{file.name}: is too large", allowed)


def impurities(file: PolicyFile) -> tuple[str, ...]:
    """Return one line for each impurity of a file; raise PolicyError if the file cannot be parsed
    within the limits. The first call for a text takes about 0.1 s, because a confined process reads
    the text.
    """
    try:
        return _impurities(file.text)
    except MisbehavedError as fault:
        allowed = f"Python source that can be parsed within {OF_READING.cpu_s} s of CPU"
        raise PolicyError("policy", f"{file.name}: {fault}", allowed) from None


@lru_cache(REMEMBERED)
def _impurities(text: str) -> tuple[str, ...]:
    return tuple(process.impurities(text))


def _check_name(name: str) -> None:
    allowed = "letters, digits and _, e.g. own/quiet_door.py"
    if not name.isprintable():
        raise PolicyError("policy", f"{name!a}: must contain only printable characters", allowed)
    if len(name) > MOST_NAME or len(stem(name)) > MOST_STEM:
        allowed = f"at most {MOST_NAME} characters, and at most {MOST_STEM} in the file's name"
        raise PolicyError("policy", f"{name:.{MOST_STEM}}…: the name is too long", allowed)
    if not stem(name).isidentifier():
        raise PolicyError("policy", f"{name}: the file's name must be a valid module name", allowed)
    if unicodedata.normalize("NFKC", name) != name:
        raise PolicyError("policy", f"{name!a}: must be in its Unicode normal form (NFKC)", allowed)
    if stem(name).casefold() in {*POLICIES, *ADMISSIONS}:
        raise PolicyError(
            "policy",
            f"{name}: a policy of Doorbuster already has the name {stem(name)}",
            allowed,
        )


remembered: OrderedDict[str, PolicyFile] = OrderedDict()


def remember(file: PolicyFile) -> None:
    """Remember this text for `known`."""
    remembered[file.sha256] = file
    remembered.move_to_end(file.sha256)
    if len(remembered) > REMEMBERED:
        remembered.popitem(last=False)


def known(name: str, sha256: str) -> PolicyFile:
    """Return the text with this digest, if it is remembered or still at its path; otherwise raise
    PolicyError.
    """
    _check_name(name)
    found = remembered.get(sha256)
    if found is not None:
        return PolicyFile(name, found.text)
    file = read(name)
    if file.sha256 != sha256:
        raise PolicyError(
            "policy",
            f"{name} has changed since its sha256 was recorded ({sha256[:12]}…)",
            "restore the recorded text (results keep a copy in policies/), or omit the sha256",
        )
    return file
