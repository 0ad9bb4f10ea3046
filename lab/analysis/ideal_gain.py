"""The ideal gain of an ad search with several threads."""


def ideal_gain(threads: int, concepts: int, cpus: int) -> float:
    """Return the largest share (0 to 1) of a search's duration that several threads can save. The
    machine is otherwise idle. A thread searches one whole concept at a time, so a search consists
    of rounds. If there are more threads than CPUs, the threads share the CPUs equally."""
    at_a_time = min(threads, concepts)
    rounds, left = divmod(concepts, at_a_time)
    took = rounds * max(1.0, at_a_time / cpus) + (max(1.0, left / cpus) if left else 0.0)
    return 1 - took / concepts
