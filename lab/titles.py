"""The titles of policies: the names that people read, in the papers' spelling."""

from collections.abc import Mapping
from typing import Any

from gateway.policies import ADMISSIONS, NO_ADMISSION, POLICIES, registry

TITLES = {
    **{
        sheet.name: sheet.title or sheet.name
        for sheet in (*map(registry.sheet, POLICIES), *map(registry.admission_sheet, ADMISSIONS))
        if sheet.name != NO_ADMISSION
    },
    "haproxy": "HAProxy",
    "nginx": "nginx",
    "ignore": "ignore",
    "drop-queued": "drop queued",
    "cancel": "cancel",
}
"""The title for each name: the data sheets have the titles of policies, and this table has the
others.
"""


def title_of(key: str) -> str:
    """Return the title of a policy, or of a combination `queueing+admission+abandonment`.

    Any other label is returned unchanged.
    """
    parts = key.split("+")
    if any(part not in TITLES for part in parts):
        return key
    return " + ".join(TITLES[part] for part in parts)


def title_in_force(policy: Mapping[str, Any]) -> str:
    """Return the title of a policy that the gateway reported: `8Q-LIFO-Pri + SBAC hybrid`."""
    parts = (policy["name"], policy["admission"]["name"])
    return title_of("+".join(part for part in parts if part != NO_ADMISSION))
