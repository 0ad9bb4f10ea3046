"""The console's colours on a dark page, which is Grafana's default."""

from collections.abc import Mapping

from common.page_types import NAMES

GOOD = "#6fd3a0"
BAD = "#ff8a73"
WARNING = "#f2cc4a"
ACCENT = "#7db8f5"
SOFT = "#a9b7c5"

_PAGES = (
    *("#5aa9e6", "#8accf4", "#5fd0c0", "#9ad47a"),
    *("#f2cc4a", "#ffab63", "#ff8763", "#e57fb5"),
)
PAGES: Mapping[str, str] = {
    **dict(zip(NAMES, _PAGES, strict=False)),  # Grafana chooses the colours of further page types
    "ads": "#e39cf0",
    "other": SOFT,
}
"""`--p0` to `--p7` of the console's style sheet, and colours for requests outside the policy."""

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
