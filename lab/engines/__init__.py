"""Engines: each carries out one run and returns a record of it."""
