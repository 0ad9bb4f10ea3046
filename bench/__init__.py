"""Benchmarks, each of which compares costs and rates of programs in one run on this machine."""
