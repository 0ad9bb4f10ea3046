"""The queue of launches, which chooses the next launch and finds launches whose worker has died.

One live launch runs at a time, because two would disturb each other. Simulated launches run at the
same time, in SIMULATED_AT_ONCE places and one quick place for launches of at most QUICK_S. People
take turns. The next launch usually belongs to the person whose launches have used the least time
recently (`in_turn`).
"""

import heapq
import math
import os
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from datetime import timedelta

import psutil
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from common import processes
from lab.console.models import Launch, State
from lab.console.site.allowances import QUEUED_LAUNCHES, TEACHER, Allowance, require
from lab.errors import FaultError

SIMULATED_AT_ONCE = max(1, len(os.sched_getaffinity(0)) - 1)
QUICK_S = 120.0
"""The longest expected duration of a launch in the quick place, in real seconds."""
AT_ONCE = 1 + SIMULATED_AT_ONCE + 1
"""The maximum number of simultaneous launches: live, simulated and quick."""
LATELY_S = 3600.0
"""The period, in real seconds, for which the queue counts the time that a person's launches have
used."""


class QueueError(FaultError, ValueError):
    """The error raised if the queue does not accept a launch; its text is one line."""


def enqueue(launch: Launch, allowance: Allowance = TEACHER) -> Launch:
    """Add a launch to the queue. Raises QueueError if the queue is full, and AllowanceError if the
    person has reached a limit."""
    with transaction.atomic():
        if Launch.objects.filter(state=State.QUEUED).count() >= QUEUED_LAUNCHES:
            raise QueueError(
                f"The queue is full: {QUEUED_LAUNCHES} launches are waiting. Try again later, or "
                "cancel a waiting launch."
            )
        waiting = waiting_of(launch.by)
        require(allowance, "waiting_launches", len(waiting) + 1)
        expected_s = launch.expected_s + sum(one.expected_s for one in waiting)
        require(allowance, "waiting_expected_s", expected_s)
        launch.save()
    return launch


def waiting_of(person: str) -> list[Launch]:
    return list(Launch.objects.filter(by=person, state=State.QUEUED))


def used_s(engine: str) -> dict[str, float]:
    """Return the real seconds that each person's launches on this engine have used within LATELY_S.
    For a running launch, the time counts as at least the launch's expected duration, so that people
    take turns."""
    now = timezone.now()
    since = now - timedelta(seconds=LATELY_S)
    found: dict[str, float] = defaultdict(float)
    recent = Launch.objects.filter(Q(ended_at__gt=since) | Q(state=State.RUNNING), engine=engine)
    used = recent.values_list(  # without the specs: pages call this often
        "by", "state", "expected_s", "began_at", "ended_at"
    )
    for by, state, expected_s, began_at, ended_at in used:
        if began_at is None:
            continue
        if state == State.RUNNING:
            found[by] += max(expected_s, (now - began_at).total_seconds())
        elif ended_at is not None:
            found[by] += (ended_at - max(began_at, since)).total_seconds()
    return dict(found)


def in_turn(queued: Sequence[Launch], used: Mapping[str, float]) -> list[Launch]:
    """Return the order in which the waiting launches of one engine begin.

    Launches that a teacher has moved to the front come first, and launches that give way to all
    others come last. Between these two groups, the next launch always belongs to the person who has
    used the least time. The launch's expected time is then added to this person's time. A person's
    launches keep their order.
    """
    used = defaultdict(float, used)
    by_place = sorted(queued, key=lambda one: one.place)
    ordered = [one for one in by_place if one.place < 0]
    last = [one for one in by_place if one.place > 0 and one.gives_way]
    for one in ordered:
        used[one.by] += one.expected_s
    waiting: dict[str, deque[Launch]] = {}
    for one in by_place:
        if one.place > 0 and not one.gives_way:
            waiting.setdefault(one.by, deque()).append(one)
    while waiting:
        person = min(waiting, key=lambda person: (used[person], waiting[person][0].place))
        chosen = waiting[person].popleft()
        ordered.append(chosen)
        used[person] += chosen.expected_s
        if not waiting[person]:
            del waiting[person]
    return ordered + last


def _next_for_place(ordered: Sequence[Launch], *, quick: bool) -> Launch | None:
    return next((one for one in ordered if not quick or one.expected_s <= QUICK_S), None)


def claim() -> Launch | None:
    """Mark the next launch as running and return it; None if no launch can begin now."""
    with transaction.atomic():
        reap()
        running = list(Launch.objects.filter(state=State.RUNNING))
        chosen = _next_live(running) or _next_simulated(running)
        if chosen is not None:
            chosen.state = State.RUNNING
            chosen.began_at = timezone.now()
            me = psutil.Process()
            chosen.process, chosen.process_began = me.pid, me.create_time()
            chosen.save()
    return chosen


def _next_live(running: Sequence[Launch]) -> Launch | None:
    live = next((one for one in running if one.is_live), None)
    ordered = _ordered("live")
    if live is None:
        return ordered[0] if ordered else None
    if live.gives_way and any(not one.gives_way for one in ordered):
        Launch.objects.filter(pk=live.pk).update(cancel_asked=True)
    return None


def _next_simulated(running: Sequence[Launch]) -> Launch | None:
    simulated = [one for one in running if not one.is_live]
    ordered = _ordered("simulated")
    found = (_next_for_place(ordered, quick=quick) for quick in _free_places(simulated))
    return next(filter(None, found), None)


def _free_places(simulated: Sequence[Launch]) -> list[bool]:
    """Return a boolean for each free place: True for the quick place, False for any other place.
    The quick place is occupied while any running launch has an expected duration of at most
    QUICK_S."""
    is_quick_taken = any(one.expected_s <= QUICK_S for one in simulated)
    free = SIMULATED_AT_ONCE - (len(simulated) - is_quick_taken)
    return [False] * free + [True] * (not is_quick_taken)


def _ordered(engine: str) -> list[Launch]:
    queued = Launch.objects.filter(state=State.QUEUED, engine=engine)
    return in_turn(list(queued), used_s(engine)) if queued else []


def end(launch: Launch, state: State, reason: str = "") -> None:
    """Record the end of a running launch. A launch in another state stays unchanged."""
    with transaction.atomic():
        current = Launch.objects.get(pk=launch.pk)
        if current.state == State.RUNNING:
            current.state, current.reason, current.ended_at = state, reason, timezone.now()
            current.process = current.process_began = None
            if state == State.DONE:
                current.done_ratio = 1.0
            current.save()


def cancel(launch: Launch) -> None:
    """Remove a waiting launch from the queue, or mark a running launch so that its worker stops
    it."""
    with transaction.atomic():
        current = Launch.objects.get(pk=launch.pk)
        if current.state == State.QUEUED:
            current.state, current.ended_at = State.CANCELLED, timezone.now()
            current.save()
        elif current.state == State.RUNNING:
            current.cancel_asked = True
            current.save()


def move_first(launch: Launch) -> None:
    """Move a launch to the front of the queue by giving it a place below 0."""
    with transaction.atomic():
        first = Launch.objects.filter(state=State.QUEUED).order_by("place").first()
        if first is not None and (first.pk != launch.pk or first.place > 0):
            place = min(0, first.place) - 1
            Launch.objects.filter(pk=launch.pk, state=State.QUEUED).update(place=place)


def reap() -> None:
    """Mark running launches as interrupted if their worker process has died."""
    for launch in Launch.objects.filter(state=State.RUNNING):
        if launch.process is None or not processes.lives(launch.process, launch.process_began):
            end(
                launch,
                State.INTERRUPTED,
                "The process that ran the launch has died. Its measurements until then are kept.",
            )


def line() -> list[tuple[Launch, int | None]]:
    """Return the waiting launches in the order in which they begin, each with the approximate real
    seconds until then. The time is None if a launch of infinite expected duration must end first.
    """
    running = list(Launch.objects.filter(state=State.RUNNING))
    left = [(one, left_s(one)) for one in running]
    found = starts(_ordered("live"), _ordered("simulated"), left)
    return [(one, math.ceil(start_s) if math.isfinite(start_s) else None) for one, start_s in found]


def elapsed_s(one: Launch) -> float:
    """Return the real seconds since a launch began."""
    return (timezone.now() - one.began_at).total_seconds() if one.began_at else 0.0


def left_s(one: Launch) -> float:
    """Return the approximate remaining real seconds of a running launch. The whole duration is a
    mean of the predicted duration and the duration at the pace so far, weighted by the progress."""
    elapsed = elapsed_s(one)
    at_this_pace_s = elapsed / one.done_ratio if one.done_ratio > 0 else 0.0
    whole_s = one.done_ratio * at_this_pace_s + (1 - one.done_ratio) * one.expected_s
    return max(0.0, whole_s - elapsed)


def shown_left_s(one: Launch) -> float | None:
    """Return `left_s`; None if the launch has already taken longer than predicted."""
    return None if 0 < one.expected_s < elapsed_s(one) else left_s(one)


def starts(
    live: Sequence[Launch], simulated: Sequence[Launch], running: Sequence[tuple[Launch, float]]
) -> list[tuple[Launch, float]]:
    """Return when each waiting launch begins, in real seconds from now, with the earliest launch
    first.

    `live` and `simulated` are the waiting launches in the order of `in_turn`. `running` has each
    running launch and its remaining real seconds.
    """
    found: list[tuple[Launch, float]] = []
    live_s = sum(left_s for one, left_s in running if one.is_live)
    for one in live:
        found.append((one, live_s))
        live_s += one.expected_s
    busy = [(left_s, one) for one, left_s in running if not one.is_live]
    places = [(0.0, quick) for quick in _free_places([one for _, one in busy])]
    short = [(left_s, one) for left_s, one in busy if one.expected_s <= QUICK_S]
    _, quick = min(short, default=(0.0, None), key=lambda pair: pair[0])
    places += [(left_s, one is quick) for left_s, one in busy]
    heapq.heapify(places)
    waiting = list(simulated)
    while waiting and places:
        free_s, is_quick = heapq.heappop(places)
        chosen = _next_for_place(waiting, quick=is_quick)
        if chosen is None:  # no waiting launch fits into the quick place
            continue
        waiting.remove(chosen)
        found.append((chosen, free_s))
        heapq.heappush(places, (free_s + chosen.expected_s, is_quick))
    return sorted(found, key=lambda pair: pair[1])
