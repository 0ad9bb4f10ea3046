"""Benchmarks of times, rates and costs on this machine."""
