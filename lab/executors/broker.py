"""The address of the Redis through which Celery workers receive simulations.

Messages show an address without its password.
"""

import re

from lab.errors import SpecError


def checked(address: str, option: str) -> str:
    """Return `address` unchanged; raises SpecError, naming `option`, for another kind of broker."""
    if not address.startswith(("redis://", "rediss://")):
        raise SpecError(
            f"{option}: {shown(address)!r} is no broker; allowed: redis://host:port/database"
        )
    return address


def shown(text: str) -> str:
    """Return `text`, which is or contains an address, without user and password."""
    return re.sub(r"(?<=://).*@", "", text)
