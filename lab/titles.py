"""What policies are called where people read: the papers' spelling.

Owns: the names. Must not know: what a policy does.
"""

TITLES = {
    "sq": "SQ",
    "8q-af": "8Q-AF",
    "8q-lifo-pri": "8Q-LIFO-Pri",
    "always-fifo": "Always-FIFO",
    "always-lifo": "Always-LIFO",
    "lifo-at-overload": "LIFO-at-overload",
    "static-stages": "Static stages",
    "door-lifo": "DOOR-LIFO",
    "door-fifo": "DOOR-FIFO",
    "pass-through": "Pass-through",
    "fixed-limit": "Fixed limit",
    "aimd": "AIMD",
    "gradient2": "Gradient2",
    "envoy-adaptive-concurrency": "Envoy adaptive concurrency",
    "envoy-admission-control": "Envoy admission control",
    "codel": "CoDel + adaptive LIFO",
    "dagor": "DAGOR",
    "prioritised-rejection": "Prioritised rejection",
    "waiting-room": "Waiting room",
    "sbac": "SBAC",
    "sbac-responsive": "SBAC responsive",
    "sbac-stable": "SBAC stable",
    "sbac-hybrid": "SBAC hybrid",
    "sbac-predictive": "SBAC predictive",
    "haproxy": "HAProxy",
    "nginx": "nginx",
    "ignore": "ignore",
    "drop-queued": "drop queued",
    "cancel": "cancel",
}


def title_of(key: str) -> str:
    """A policy, a combination as `queueing+admission+abandonment`, or a label as it is."""
    parts = key.split("+")
    if any(part not in TITLES for part in parts):
        return key
    return " + ".join(TITLES[part] for part in parts)
