"""The page for a visitor whom a policy rejects. It shows the reason, and when to come back.

An explicit rejection discourages immediate retries (SBAC, section 8). The page does not reload
itself, because that would be a retry.
"""

from datetime import UTC, datetime
from math import ceil

from gateway.http import refusals

_BY_THE_SECOND_S = 90
_BY_THE_MINUTE_S = 90 * 60

_TEXT = """<p>The shop is full: one more customer would slow down all the others.
So no new customers are let in for the moment.</p>
<p><strong>Please come back in about {wait}</strong>, at
<time datetime="{exact}">{clock}</time>.</p>
<p>Your request has not reached the shop: nothing was ordered or charged. There is no queue
in which you would lose a place, so you can close this page.</p>"""


def page(reason: str, wait_s: int, now_s: float) -> bytes:
    """Return the page for a visitor who may return `wait_s` seconds after `now_s` (seconds since
    1970). The displayed time is rounded up.
    """
    step_s = 1 if wait_s < _BY_THE_SECOND_S else 60
    back_s = ceil((now_s + wait_s) / step_s) * step_s
    back = datetime.fromtimestamp(back_s, UTC).astimezone()
    text = _TEXT.format(
        wait=_in_words(wait_s),
        exact=back.isoformat(),
        clock=back.strftime("%H:%M:%S %Z" if step_s == 1 else "%H:%M %Z"),
    )
    return refusals.frame(503, reason, "The shop is full", "The shop is full right now", text)


def _in_words(wait_s: int) -> str:
    if wait_s < _BY_THE_SECOND_S:
        return "1 second" if wait_s == 1 else f"{wait_s} seconds"
    if wait_s < _BY_THE_MINUTE_S:
        return f"{ceil(wait_s / 60)} minutes"
    return f"{ceil(wait_s / 3600)} hours"
