"""The records of a run: attempts and connections, and the files that keep them."""
