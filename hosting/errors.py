"""The error of a hosting platform."""


class HostingError(RuntimeError):
    """The error of a platform or an additional shop; the message is the reason."""
