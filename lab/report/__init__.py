"""Reports: tables, figures and pages of results."""
