"""The error of a hosting platform; its text says how to fix it."""


class HostingError(RuntimeError):
    """The platform cannot be had, or has ended; the message says why."""
