"""The exceptions whose text is shown to the user without a traceback."""


class ExperimentError(Exception):
    """An error with one or a few lines of text: the fault and how to fix it."""


class SpecError(ExperimentError):
    """The error for an invalid spec, option or setting, raised before any work begins."""
