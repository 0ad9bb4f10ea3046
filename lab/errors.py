"""The exceptions whose text is shown to the user without a traceback."""


class ExperimentError(Exception):
    """An error whose text, of one or a few lines, explains the fault to the user."""


class SpecError(ExperimentError):
    """The error for an invalid spec, option or setting, raised before any work begins."""
