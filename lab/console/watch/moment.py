"""The present state of the shop in a few sentences."""

from collections.abc import Mapping, Sequence
from typing import Any

OVER_S = 10.0
"""The period, in real seconds, for which the share of wasted pages is calculated."""
FEWEST_PAGES = 10
"""The minimum number of finished pages from which a share is calculated."""
_FEW_ORPHANS_RATIO = 0.15
"""The text usually states the share of pages that are for customers who have left. If this share is
at most this limit, and most waiting requests are orphan requests, the text instead states the share
for customers who still wait."""
_ONE_QUEUE = ("sq", "always-fifo", "always-lifo", "lifo-at-overload")
"""The policies with a single queue, in which only the discipline decides which request is next."""
_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def sentence(frame: Mapping[str, Any], earlier: Mapping[str, Any] | None) -> str:
    """Return a few short sentences about `frame`.

    `earlier` is the frame of the same gateway from about `OVER_S` real seconds before. Without this
    frame, the text does not state the share of wasted pages.
    """
    run = frame["run"]
    if shops := frame.get("live_shops"):
        parts = [_side_by_side(shops)]
    elif run is None:
        parts = _without_run(frame)
    elif "run" in run:
        before = frame["sold"] and frame["sold"]["before"]
        parts = [*_queue(frame), *_share(frame, earlier), *_customers(run), _last(before)]
    elif run.get("between"):
        parts = [_sentence(run["words"]), _last(frame["sold"])]
    else:
        parts = [_sentence(run["words"])]
    return " ".join(part for part in parts if part)


def share_words(ratio: float) -> str:
    """Return a share of pages in words, such as `one page in three`; empty if the share is near
    zero."""
    if ratio < 0.04:
        return ""
    if ratio > 0.95:
        return "nearly every page"
    if ratio < 0.55:
        rounded = round(1 / ratio)
        number = _WORDS[rounded] if rounded < len(_WORDS) else str(rounded)
        return f"one page in {number}"
    if ratio < 0.72:
        return "two pages in three"
    return "three pages in four" if ratio < 0.82 else "nine pages in ten"


def _without_run(frame: Mapping[str, Any]) -> list[str]:
    still = (frame["waiting"] or 0) + frame["in_service"]
    sold = frame["sold"]
    if sold is not None:
        has_ended = f"The run has ended ({sold['words']}). {_bought(sold)}."
        return [has_ended, f"{_left(still)}." if still else ""]
    if still:
        return [f"No run is in progress. {_left(still)}."]
    idle = "The shop is idle, because no run is in progress."
    return [idle, "Launch an experiment to see customers here."]


def _last(sold: Mapping[str, Any] | None) -> str:
    """Return a sentence about the purchases during the last run; empty if there was no run."""
    return "" if sold is None else f"In the last run ({sold['words']}), {_bought(sold)}."


def _bought(sold: Mapping[str, Any]) -> str:
    number = sold["confirms"]
    return "1 customer bought" if number == 1 else f"{number:,} customers bought"


def _side_by_side(shops: Sequence[Mapping[str, Any]]) -> str:
    number = f"{_WORDS[len(shops)] if len(shops) < len(_WORDS) else len(shops)} shops"
    best = max(shop["confirms"] for shop in shops)
    leaders = [shop for shop in shops if shop["confirms"] == best]
    if len(leaders) > 1:
        return f"{number.capitalize()} have the same customers. No policy leads yet."
    rest = ", ".join(
        f"{shop['title']} has {shop['confirms']}" for shop in shops if shop is not leaders[0]
    )
    bought = "1 confirm" if best == 1 else f"{best} confirms"
    return (
        f"{number.capitalize()} have the same customers. {leaders[0]['title']} leads with "
        f"{bought}; {rest}."
    )


def _queue(frame: Mapping[str, Any]) -> list[str]:
    waiting = frame["waiting"]
    busy = f"{frame['in_service']} of the shop's {frame['workers']} workers are busy."
    if waiting is None:
        return [busy]
    if waiting == 0:
        return ["No request waits.", busy]
    gone = _gone(frame)
    requests = "1 request waits" if waiting == 1 else f"{waiting} requests wait"
    if gone:
        is_whole = frame["waits_s"][1] is not None
        number = f"{gone}" if is_whole else f"at least {gone}"
        whose = "its customer" if waiting == 1 else f"{number} of their customers"
        requests += f", and {whose} {'has' if gone == 1 else 'have'} left"
    return [f"{requests}.", _wait(frame)]


def _wait(frame: Mapping[str, Any]) -> str:
    """Return a sentence that compares the wait of the next request with the customers' patience."""
    waits = frame["waits_s"]
    if waits is None:
        return ""
    oldest_s, newest_s = waits
    has_one_queue = frame["policy"] in _ONE_QUEUE and frame["sessions"] is None
    if has_one_queue and frame["discipline"] == "LIFO":
        newest = "" if newest_s is None else f" and has waited {newest_s:.0f} s"
        text = f"The newest request is next{newest}. The oldest request has waited {oldest_s:.0f} s"
    elif has_one_queue and frame["discipline"] == "FIFO":
        text = f"The next request to be served has waited {oldest_s:.0f} s"
    else:
        text = f"The oldest request has waited {oldest_s:.0f} s"
    patience_s = frame["run"].get("patience_s")
    if patience_s is None:
        return f"{text}."
    return f"{text}. Customers leave after {patience_s:.0f} s on average."


def _share(frame: Mapping[str, Any], earlier: Mapping[str, Any] | None) -> list[str]:
    if earlier is None:
        return []
    passed = {
        fate: frame["counts"][fate] - earlier["counts"][fate] for fate in ("answered", "orphaned")
    }
    pages = sum(passed.values())
    if pages < FEWEST_PAGES:
        return []
    orphaned_ratio = passed["orphaned"] / pages
    if orphaned_ratio <= _FEW_ORPHANS_RATIO and 2 * _gone(frame) > (frame["waiting"] or 0):
        # Otherwise a long queue of requests whose customers have left looks like wasted work.
        share, who = share_words(1 - orphaned_ratio), "still waits"
    else:
        share, who = share_words(orphaned_ratio), "has left"
    verb = "are" if "pages" in share else "is"
    return [f"{share.capitalize()} {verb} made for a customer who {who}."] if share else []


def _gone(frame: Mapping[str, Any]) -> int:
    """Return the number of listed waiting requests whose customer has left."""
    return sum(left for *_, left in frame["strip"] or ())


def _customers(run: Mapping[str, Any]) -> list[str]:
    customers = run.get("customers") or {}
    if 0 < customers.get("planned", 0) <= customers.get("started", 0):
        return ["All customers of the run have arrived."]
    return []


def _requests(number: int) -> str:
    return "1 request" if number == 1 else f"{number} requests"


def _left(number: int) -> str:
    return f"{_requests(number)} {'is' if number == 1 else 'are'} still waiting or in service"


def _sentence(words: str) -> str:
    text = words[:1].upper() + words[1:]
    return text if text.endswith(".") else f"{text}."
