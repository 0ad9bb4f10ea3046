"""The study of LIFO-Pri: runs, measures, figures, claims and the text of the report."""
