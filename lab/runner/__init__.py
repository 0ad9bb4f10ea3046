"""The runner: many runs, planned, interleaved, resumed and timed."""
