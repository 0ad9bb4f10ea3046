"""Traces of single requests: which requests are traced, and what their spans tell."""
