"""Benchmarks: ratios of costs and rates, measured side by side in one run on this machine."""
