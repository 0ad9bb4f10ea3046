"""The error that a hosting platform raises; its text explains the fix."""


class HostingError(RuntimeError):
    """The error raised when a platform cannot start or has ended; its message is the reason."""
