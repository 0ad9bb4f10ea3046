"""The records of a run: attempts, connections, and their files."""
