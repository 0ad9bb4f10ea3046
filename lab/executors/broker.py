"""Check the address of the Redis from which Celery workers receive tasks, and hide its password in
messages.
"""

import re

from lab.errors import SpecError


def checked(address: str, option: str) -> str:
    """Return `address` unchanged; raises SpecError, which names `option`, if it is not the address
    of a Redis database.
    """
    if not address.startswith(("redis://", "rediss://")):
        raise SpecError(
            f"{option}: {shown(address)!r} is not the address of a Redis database; allowed: "
            "redis://host:port/database"
        )
    return address


def shown(text: str) -> str:
    """Return `text` without the user and the password in any address that it contains."""
    return re.sub(r"(?<=://).*@", "", text)
