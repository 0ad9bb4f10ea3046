"""The exceptions whose text people see as it is, without a traceback."""


class ExperimentError(Exception):
    """One line (or a few) that says what is wrong and how to mend it."""


class SpecError(ExperimentError):
    """What was asked for cannot be meant: a bad spec, option or setting; nothing was begun."""
