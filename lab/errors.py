"""The exceptions whose text the user sees, without a traceback."""


class ExperimentError(Exception):
    """A fault in one line, or a few: what is wrong and how to fix it."""


class SpecError(ExperimentError):
    """An invalid spec, option or setting; no work has begun."""
