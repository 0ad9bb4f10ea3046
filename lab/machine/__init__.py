"""The machine on which experiments run: its description, its load, and the cost of work."""
