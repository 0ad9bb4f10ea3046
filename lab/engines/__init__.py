"""The engines, each of which carries out one run and returns a record of it."""
