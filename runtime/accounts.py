"""The accounts of this machine: the account that runs PostgreSQL, and other people's accounts.

PostgreSQL refuses to run as root, so root must start it under another account.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

if sys.platform != "win32":
    import pwd

ACCOUNTS_FOR_ROOT = ("postgres", "nobody")
_HUMAN_UIDS = range(1000, 60_000)
"""The user ids that useradd gives to people."""
_NO_LOGIN = ("nologin", "false", "sync")


@dataclass(frozen=True, slots=True)
class Account:
    """Another account of this machine, to which root can switch."""

    name: str
    uid: int
    gid: int

    def own(self, path: Path) -> None:
        """Make this account the owner of `path`."""
        os.chown(path, self.uid, self.gid)


def for_database(cluster: Path | None = None) -> Account | None:
    """Return the account that runs PostgreSQL if this process is root. Return None for any other
    user, who runs PostgreSQL under the same account.

    The account is the owner of the folder `cluster`, if the folder exists and is not root's.
    """
    if os.geteuid() != 0:
        return None
    if cluster is not None and (owner := _owner(cluster)):
        return owner
    for name in ACCOUNTS_FOR_ROOT:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name, entry.pw_uid, entry.pw_gid)
    raise LookupError(
        "PostgreSQL refuses to run as root, and this machine has no user `postgres` or `nobody`; "
        "fix: run `make up` as an ordinary user, or `useradd --system postgres`"
    )


def _owner(path: Path) -> Account | None:
    try:
        entry = pwd.getpwuid(path.stat().st_uid)
    except (OSError, KeyError):  # missing, or its owner no longer exists
        return None
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid) if entry.pw_uid else None


def can_start(program: Path, account: Account | None) -> bool:
    """Return whether `account` can start this program, which must have the option --version."""
    try:
        return run([program, "--version"], account, Path("/")).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def run(
    command: Sequence[str | Path], account: Account | None, directory: Path, timeout_s: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run a command as `account` in a minimal environment; `stdout` of the result contains the
    standard output and the standard error.

    Raises `OSError` if the account cannot start the program, and `TimeoutExpired` if the command
    runs for longer than `timeout_s`.
    """
    # A minimal environment, because the caller's locale and PG* variables must not reach a server.
    environment = {"PATH": os.defpath, "LC_ALL": "C", "HOME": str(directory)}
    return subprocess.run(
        [str(part) for part in command],
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=timeout_s,
        check=False,
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=[] if account else None,
    )


def others() -> tuple[str, ...]:
    """Return the names of people who may log in to this machine, except the user of this process.

    They can reach every port on the loopback address. The result lacks people whom a directory
    service does not list.
    """
    return tuple(
        entry.pw_name
        for entry in pwd.getpwall()
        if entry.pw_uid in _HUMAN_UIDS
        and entry.pw_uid != os.geteuid()
        and entry.pw_shell.rpartition("/")[2] not in _NO_LOGIN
    )
