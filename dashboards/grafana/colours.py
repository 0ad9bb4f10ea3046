"""The console's colours, as it has them on a dark page: Grafana's own default.

Owns: which colour means what. Must not know: panels. Every line also has its name in a legend, and
what must be told apart without colour is dashed.
"""

from collections.abc import Mapping

GOOD = "#6fd3a0"
BAD = "#ff8a73"
WARNING = "#f2cc4a"
ACCENT = "#7db8f5"
SOFT = "#a9b7c5"

PAGES: Mapping[str, str] = {
    "Br-1": "#5aa9e6",
    "Br-2": "#8accf4",
    "Br-3": "#5fd0c0",
    "Br-4": "#9ad47a",
    "Tr-1": "#f2cc4a",
    "Tr-2": "#ffab63",
    "Tr-3": "#ff8763",
    "Tr-4": "#e57fb5",
    "ads": "#e39cf0",
    "other": SOFT,
}
"""`--p0` to `--p7` of the console's style sheet, and what goes beside the policy."""

OUTCOMES: Mapping[str, str] = {
    "completed": GOOD,
    "answered": GOOD,
    "timed_out": BAD,
    "dropped": "#f2cc4a",
    "rejected": "#ffab63",
    "refused": "#e39cf0",
    "failed": "#ff5c8a",
    "cancelled": "#7db8f5",
    "orphaned": "#c98a8a",
    "withdrawn": "#8accf4",
    "not_generated": SOFT,
}

WORK: Mapping[str, str] = {"wasted": BAD, "kept": WARNING, "unanswered": SOFT}

QUANTILES: Mapping[str, str] = {"half": GOOD, "9 in 10": WARNING, "99 in 100": BAD}
