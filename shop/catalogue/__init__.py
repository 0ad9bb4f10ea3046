"""The shop's books, which are generated from a seed and therefore the same on every machine."""
