"""The decorators for views that may, or must never, be cancelled."""

from collections.abc import Callable
from typing import Any, TypeVar

View = TypeVar("View", bound=Callable[..., Any])
_ATTRIBUTE = "sentry_may_cancel"


def cancellable(view: View) -> View:
    """Allow the sentry to cancel this view, even on a POST.

    Its data must be written in one transaction that ends with `commit_point()`.
    """
    setattr(view, _ATTRIBUTE, True)
    return view


def protected(view: View) -> View:
    """Forbid the sentry to cancel this view, even on a GET."""
    setattr(view, _ATTRIBUTE, False)
    return view


def said_of(view: Callable[..., Any]) -> bool | None:
    """Return True for a `cancellable` view, False for a `protected` view, otherwise None."""
    marked: bool | None = getattr(view, _ATTRIBUTE, None)
    return marked
