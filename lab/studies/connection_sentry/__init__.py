"""The study of Connection Sentry: runs, measures, figures, claims and the text of the report."""
