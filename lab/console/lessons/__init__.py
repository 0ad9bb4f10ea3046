"""Lessons: the lab sheets as guided pages."""
