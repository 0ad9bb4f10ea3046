"""What can go wrong with an experiment, said to a person.

Owns: the one exception whose text is shown as it is, without a traceback.
"""


class ExperimentError(Exception):
    """One line (or a few) that says what is wrong and how to mend it."""
