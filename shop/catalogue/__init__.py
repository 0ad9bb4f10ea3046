"""The shop's books: made from a seed, the same on every machine."""
