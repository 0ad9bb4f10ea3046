"""The shop's books, which are generated from a seed."""
