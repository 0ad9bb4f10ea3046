"""Studies: a paper's figures and tables, published next to reproduced ones; see README.md."""

SESSION_METRICS = "studies:sessions"
PAGE_METRICS = "studies:pages"
"""Measures that several studies use; see `measures.MEASURES`."""
