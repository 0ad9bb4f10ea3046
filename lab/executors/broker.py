"""The address of the Redis through which Celery workers receive simulations.

People see an address without its password.
"""

import re

from lab.errors import SpecError


def checked(address: str, option: str) -> str:
    """`address` as it is; raises SpecError, naming `option`, for another kind of broker."""
    if not address.startswith(("redis://", "rediss://")):
        raise SpecError(
            f"{option}: {shown(address)!r} is no broker; allowed: redis://host:port/database"
        )
    return address


def shown(text: str) -> str:
    """`text`, an address or what has one in it, without user and password."""
    return re.sub(r"(?<=://).*@", "", text)
