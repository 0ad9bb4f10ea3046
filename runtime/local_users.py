"""Other people with accounts on this machine, who reach every service on its loopback."""

import os
import sys

if sys.platform != "win32":
    import pwd

_HUMAN_UIDS = range(1000, 60_000)
"""The numbers that useradd gives to people. Services have lower numbers, containers and the user
`nobody` higher ones."""
_NO_LOGIN = ("nologin", "false", "sync")


def others() -> tuple[str, ...]:
    """Return the names of people who may log in here, except the user of this process.

    Accounts of a directory service that does not list its users are missing.
    """
    return tuple(
        entry.pw_name
        for entry in pwd.getpwall()
        if entry.pw_uid in _HUMAN_UIDS
        and entry.pw_uid != os.geteuid()
        and entry.pw_shell.rpartition("/")[2] not in _NO_LOGIN
    )
