"""The files of results and runs, and their forms."""
