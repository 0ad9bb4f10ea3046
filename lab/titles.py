"""The titles of policies: the names that people read, in the papers' spelling."""

from gateway.policies.registry import ADMISSIONS, NO_ADMISSION, POLICIES

TITLES = {
    **{
        name: known.title or name
        for registered in (POLICIES, ADMISSIONS)
        for name, (known, _) in registered.items()
        if name != NO_ADMISSION
    },
    "haproxy": "HAProxy",
    "nginx": "nginx",
    "ignore": "ignore",
    "drop-queued": "drop queued",
    "cancel": "cancel",
}
"""Policies have theirs in their data sheets."""


def title_of(key: str) -> str:
    """Return the title of a policy or of a combination `queueing+admission+abandonment`.

    A label that is no such key stays as it is.
    """
    parts = key.split("+")
    if any(part not in TITLES for part in parts):
        return key
    return " + ".join(TITLES[part] for part in parts)
