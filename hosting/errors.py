"""The error of a hosting platform."""


class HostingError(RuntimeError):
    """The error for a platform or shop that cannot start, has ended or refuses a call; the message
    is the reason.
    """
