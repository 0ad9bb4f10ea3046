"""Other people with accounts on this machine, who reach whatever listens on its loopback.

Owns: who they are. Must not know: what listens.
"""

import os
import pwd

_HUMAN_UIDS = range(1000, 60_000)
"""What useradd gives to people. Services have lower numbers; containers and nobody have higher."""
_NO_LOGIN = ("nologin", "false", "sync")


def others() -> tuple[str, ...]:
    """The names of people who may log in here, except the user of this process.

    Accounts of a directory service that does not list its users are not among them.
    """
    return tuple(
        entry.pw_name
        for entry in pwd.getpwall()
        if entry.pw_uid in _HUMAN_UIDS
        and entry.pw_uid != os.geteuid()
        and entry.pw_shell.rpartition("/")[2] not in _NO_LOGIN
    )
