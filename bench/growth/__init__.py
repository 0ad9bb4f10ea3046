"""The benchmark of how costs grow with a size, for example the length of the queue."""
