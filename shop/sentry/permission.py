"""Which views may be cancelled whatever their method, and which never.

Owns: the two decorators. Must not know: what happens to a request that may be cancelled.
"""

from collections.abc import Callable
from typing import Any, TypeVar

View = TypeVar("View", bound=Callable[..., Any])
_ATTRIBUTE = "sentry_may_cancel"


def cancellable(view: View) -> View:
    """This view may be cancelled also when it is posted to.

    It must leave nothing half done: all it writes in one transaction, with `commit_point()` as the
    last statement of it. Other decorators keep the mark if they use functools.wraps.
    """
    setattr(view, _ATTRIBUTE, True)
    return view


def protected(view: View) -> View:
    """This view is never cancelled, not even when it is only read."""
    setattr(view, _ATTRIBUTE, False)
    return view


def said_of(view: Callable[..., Any]) -> bool | None:
    """What a decorator said of this view; None if none did."""
    marked: bool | None = getattr(view, _ATTRIBUTE, None)
    return marked
