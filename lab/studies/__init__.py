"""The studies of the papers: figures and tables with published and reproduced values."""

SESSION_METRICS = "studies:sessions"
PAGE_METRICS = "studies:pages"
"""The metrics that several studies use; see `measures.MEASURES`."""
