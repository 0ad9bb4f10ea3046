"""The study of eDragon: runs, measures, figures, claims and the text of the report."""
