"""The analysis, which calculates numbers from the logs of runs."""
