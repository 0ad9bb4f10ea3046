"""The ideal gain of an ad search that several threads share."""


def ideal_gain(threads: int, concepts: int, cpus: int) -> float:
    """Return the ideal gain, 0 to 1, of a request that consists only of a search and is alone on
    the machine.

    A thread searches one whole concept at a time, so a search consists of rounds. If there are more
    threads than CPUs, the threads share the CPUs equally.
    """
    at_a_time = min(threads, concepts)
    rounds, left = divmod(concepts, at_a_time)
    took = rounds * max(1.0, at_a_time / cpus) + (max(1.0, left / cpus) if left else 0.0)
    return 1 - took / concepts
