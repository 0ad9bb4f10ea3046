"""Benchmarks: ratios of costs and rates, measured in one run on this machine. They are
not tests."""
