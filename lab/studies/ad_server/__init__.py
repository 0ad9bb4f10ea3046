"""The study of the ad server: runs, measures, figures, claims and the text of the report."""
