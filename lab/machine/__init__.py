"""The machine: its description, its load and the costs of work on it."""
