"""Bundles: the files that make a result useful on a machine without Doorbuster."""
