"""The studies of the papers: figures and tables with published and reproduced values."""

SESSION_METRICS = "studies:sessions"
PAGE_METRICS = "studies:pages"
"""Names of measures in `measures.MEASURES`."""
