"""The content of one sample of the gateway, and the changes since the sample before it.

Counts are cumulative since the gateway started (`proxies`). A viewer can calculate rates from any
two frames of one gateway, so the server can omit frames of a long history.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gateway.policies import NO_CONNECTION_ADMISSION
from gateway.policies.interface import FATES, PAGES
from lab.wording import FAULT_BEGINS, FAULT_ENDS, leaving_words, title_in_force

Frame = dict[str, Any]
Mark = dict[str, Any]

DISAGREEMENTS = 12
"""The number of newest disagreements that the page shows."""
THRESHOLDS = ("cpu_upper_threshold", "cpu_lower_threshold")
_OF_THE_NEWEST = ("strip", "parameters", "admission", "title", "discipline", "abandonment",
                  "sessions", "connections", "sold", "run", "marks", "live_shops",
                  "shadows", "disagreements", "fallen_back", "moment", "is_idle", "waits_s",
                  "slow_database")  # fmt: skip
_PAGE_NUMBER = {page.value: number for number, page in enumerate(PAGES)}


def frame_of(
    snapshot: Mapping[str, Any],
    queue: Mapping[str, Any] | None,
    sold: Mapping[str, Any] | None,
) -> Frame:
    """Return a frame that is made from `GET /snapshot` (`proxies.InPlace`), `GET /waiting` and
    `broadcast.Sold`.

    `strip` has an entry for each waiting request in the gateway's list, the oldest first. An entry
    is a list of the request's id, the number of its page type, and 1 if the customer has left.
    `waits_s` has the paper seconds that the oldest and the newest waiting request have waited; None
    if no request waits. If the gateway's list does not contain all waiting requests, the time of
    the newest request is None. Without this list, `strip` and `waits_s` are None.
    """
    policy = snapshot["policy"]
    inner = policy["snapshot"]
    load = snapshot.get("load") or {}
    status = load.get("status") or {}
    sentry = status.get("sentry") or {}
    counts = snapshot["counts"]
    found: Frame = {
        "gateway": snapshot["gateway"],
        "time_s": snapshot["time_s"],
        "time_scale": snapshot["time_scale"],
        "policy": policy["name"],
        "title": title_in_force(policy),
        "parameters": policy["parameters"],
        "fallen_back": fallen_back(policy),
        "admission": policy["admission"],
        "discipline": inner.get("discipline", ""),
        "thresholds": [policy["parameters"].get(name) for name in THRESHOLDS],
        "abandonment": snapshot["abandonment"]["mode"],
        "slow_database": (status.get("slow_database") or {}).get("left_s", 0) > 0,
        "waiting": snapshot["waiting"],
        "waiting_by_page": [snapshot["waiting_by_page"][page] for page in PAGES],
        "in_service": snapshot["in_service"],
        "workers": snapshot["workers"],
        "cpu_utilisation_ratio": load.get("cpu_utilisation_ratio"),
        "counts": {fate: sum(counts[page][fate] for page in PAGES) for fate in FATES},
        "confirms": None if sold is None else sold["confirms"],
        "sessions": inner.get("admission"),
        "work": {
            "cpu_s": status.get("cpu_s"),
            "wasted_cpu_s": sentry.get("wasted_cpu_s"),
            "unanswered_cpu_s": sentry.get("unanswered_cpu_s"),
        },
        "connections": connections(snapshot.get("connections") or {}),
        "sold": sold,
        "shadows": [shadow(one) for one in snapshot.get("shadows", ())],
        "disagreements": disagreements(snapshot.get("shadows", ())),
        "strip": None,
        "waits_s": None,
    }
    if queue is not None:
        found["strip"] = [
            [id, _PAGE_NUMBER[page], int(left)] for id, page, _, left in queue["requests"]
        ]
        if waits_s := [waited_s for _, _, waited_s, _ in queue["requests"]]:
            is_whole = queue["waiting"] == len(waits_s)
            found["waits_s"] = [waits_s[0], waits_s[-1] if is_whole else None]
    return found


def shadow(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return a shadow from `GET /shadows`, or from a snapshot, without its list of disagreements.
    `pages` has a list for each page type, in the order of page types: `[asked, agrees, earlier by,
    later by]`. The entry of a page type without requests is null."""
    names = ("name", "fault", "waiting", "asked", "agrees_ratio", "verdicts", "earlier_s",
             "later_s")  # fmt: skip
    of_pages = [found.get("pages", {}).get(page) for page in PAGES]
    return {
        "title": _shadow_title(found),
        **{name: found.get(name) for name in names},
        "pages": [
            one and [one[name] for name in ("asked", "agrees_ratio", "earlier_s", "later_s")]
            for one in of_pages
        ],
    }


def disagreements(shadows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the newest disagreements of all shadows, the newest first, each with its `shadow`."""
    found = [
        {**one, "shadow": _shadow_title(each)}
        for each in shadows
        for one in each.get("disagreements", ())
    ]

    def known_s(one: Mapping[str, Any]) -> float:
        return float(one["arrived_s"] + max(one["acted"]["after_s"], one["said"]["after_s"]))

    return sorted(found, key=known_s, reverse=True)[:DISAGREEMENTS]


def _shadow_title(found: Mapping[str, Any]) -> str:
    _, bracket, parameters = str(found["name"]).partition(" (")
    return title_in_force(found["policy"]) + bracket + parameters


def fallen_back(policy: Mapping[str, Any]) -> str:
    """Return why FIFO has replaced a student's policy; empty if FIFO has not replaced it."""
    why = policy["snapshot"].get("fallen_back")
    if not why:
        return ""
    return f"FIFO replaced {policy['name']} at {why['at_s']:.0f} s: {why['reason']}"


def connections(found: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the counts of TLS connections; None if there are no TLS connections and no admission
    policy for them."""
    admission = (found.get("admission") or {}).get("name", NO_CONNECTION_ADMISSION)
    kinds = ("new", "resumed", "refused")
    if admission == NO_CONNECTION_ADMISSION and not any(found.get(kind) for kind in kinds):
        return None
    return {"admission": admission} | {kind: found.get(kind, 0) for kind in kinds}


def changes(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> list[Mark]:
    """Return the changes of settings and faults between two frames, each with `kind` and `text`."""
    if before is None:
        return []
    found: list[Mark] = []
    chosen = ("policy", "parameters", "admission")
    if any(before[name] != now[name] for name in chosen):
        words = now["title"]
        if before["title"] == now["title"]:
            words += f" {_changed(before, now)}"
        found.append({"kind": "policy", "text": words})
    if before["abandonment"] != now["abandonment"]:
        found.append({"kind": "abandonment", "text": leaving_words(now["abandonment"])})
    if before["slow_database"] != now["slow_database"]:
        words = FAULT_BEGINS if now["slow_database"] else FAULT_ENDS
        found.append({"kind": "fault", "text": words["slow-database"]})
    if before["time_scale"] != now["time_scale"]:
        found.append({"kind": "time scale", "text": f"time scale {now['time_scale']:g}"})
    return found


def _changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return each changed parameter with its new value: `cpu_upper_threshold 0.9`. For a parameter
    with a value per page type, the result has only the name."""
    words = []
    for old, new in (
        (before["parameters"], now["parameters"]),
        (before["admission"]["parameters"], now["admission"]["parameters"]),
    ):
        for name, value in new.items():
            if old.get(name) != value:
                words.append(name if isinstance(value, dict) else f"{name} {value:g}")
    return ", ".join(words)


def thinned(frames: Sequence[Frame], most: int) -> list[Frame]:
    """Return about `most` frames, evenly spread over time. The newest frame is always included and
    complete. The other frames lack the values that pages show only for the newest frame."""
    step = max(1, -(-len(frames) // most))
    kept = [*frames[len(frames) % step :: step], *frames[-1:]] if frames else []
    if len(kept) > 1 and kept[-1] is kept[-2]:
        kept.pop()
    charted = [
        {name: value for name, value in frame.items() if name not in _OF_THE_NEWEST}
        for frame in kept[:-1]
    ]
    return [*charted, *kept[-1:]]
