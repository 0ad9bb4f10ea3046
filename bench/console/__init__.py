"""Benchmarks of the console during overload: the times of its pages, and the cost of viewers."""
