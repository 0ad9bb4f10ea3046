"""The shop's books, which are generated from a seed and are the same on every machine."""
