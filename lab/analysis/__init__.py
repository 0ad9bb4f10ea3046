"""Analysis: the numbers that follow from the logs of runs."""
