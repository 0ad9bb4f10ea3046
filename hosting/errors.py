"""The error of a hosting platform."""


class HostingError(RuntimeError):
    """The error for a platform that cannot start or has ended; the message is the reason and the
    fix.
    """
