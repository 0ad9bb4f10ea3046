"""Benchmarks, which compare costs and rates of programs in one run on this machine."""
