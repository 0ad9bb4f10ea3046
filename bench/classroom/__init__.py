"""The benchmark in which thirty students use one console and hostile students attack it."""
