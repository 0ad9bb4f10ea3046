"""Benchmarks: ratios side by side, measured in one run on this machine. Never part of the tests."""
