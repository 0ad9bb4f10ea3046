"""Analysis: the numbers that are calculated from the logs of runs."""
