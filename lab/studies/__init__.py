"""The papers' studies: each paper's figures and tables, with published and reproduced values; see
README.md."""

SESSION_METRICS = "studies:sessions"
PAGE_METRICS = "studies:pages"
"""The metrics that several studies use; see `measures.MEASURES`."""
