"""The error of a hosting platform; its text explains how to fix it."""


class HostingError(RuntimeError):
    """The error for a platform that cannot start, or has ended; the message is the reason."""
