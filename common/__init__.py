"""Helpers that every package may import; they import nothing else of the project."""
