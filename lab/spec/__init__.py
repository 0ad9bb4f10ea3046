"""Specs: the description of an experiment and of each of its runs."""
