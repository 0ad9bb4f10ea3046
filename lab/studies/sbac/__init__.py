"""The study of SBAC: runs, measures, figures, claims and the text of the report."""
