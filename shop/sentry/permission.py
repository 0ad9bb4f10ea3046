"""The decorators for views that may be cancelled with any HTTP method, and for views that never
may.
"""

from collections.abc import Callable
from typing import Any, TypeVar

View = TypeVar("View", bound=Callable[..., Any])
_ATTRIBUTE = "sentry_may_cancel"


def cancellable(view: View) -> View:
    """Allow this view to be cancelled even for a POST.

    The view must not leave work half done: it must write all its data in one transaction whose last
    statement is `commit_point()`. Other decorators keep the mark if they use functools.wraps.
    """
    setattr(view, _ATTRIBUTE, True)
    return view


def protected(view: View) -> View:
    """Forbid that this view is cancelled, even if it only reads data."""
    setattr(view, _ATTRIBUTE, False)
    return view


def said_of(view: Callable[..., Any]) -> bool | None:
    """Return the mark that a decorator has set on this view, or None without a mark."""
    marked: bool | None = getattr(view, _ATTRIBUTE, None)
    return marked
