"""Traces of single requests: the choice of traced requests, and their spans."""
