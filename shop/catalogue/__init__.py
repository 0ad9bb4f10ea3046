"""What is on the shelves: made from a seed, the same on every machine."""
