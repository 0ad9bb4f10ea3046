"""What goes wrong with the hosting platform, said so that a person can mend it."""


class HostingError(RuntimeError):
    """The platform cannot be had, or has ended; the message says why."""
