"""The queue of launches: who is next, what stands in whose way, what has died.

One live launch runs at a time, for two would spoil each other. Simulated ones run next to it, in
SIMULATED_AT_ONCE places and a quick place that is kept for launches of at most QUICK_S: a short
launch never waits for a long one to end. People take turns: the person whose launches have used
the least time lately is next (`in_turn`). `claim` and `starts` follow the same two functions.
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

from lab.console.models import Launch, State
from lab.console.site.allowances import QUEUED_LAUNCHES, TEACHER, Allowance, require
from runtime import living

SIMULATED_AT_ONCE = max(1, len(os.sched_getaffinity(0)) - 1)
QUICK_S = 120.0
"""Expected real seconds of a launch that may use the quick place."""
AT_ONCE = 1 + SIMULATED_AT_ONCE + 1
"""Launches that run at the same time: a live one, simulated ones, a quick one."""
LATELY_S = 3600.0
"""Real seconds for which it counts what a person has used."""


class QueueError(ValueError):
    """A launch cannot be taken on; one line for the person who asked."""


def enqueue(launch: Launch, allowance: Allowance = TEACHER) -> Launch:
    """Add a launch. Raises QueueError when too many wait, AllowanceError for one person's."""
    with transaction.atomic():
        if Launch.objects.filter(state=State.QUEUED).count() >= QUEUED_LAUNCHES:
            raise QueueError(f"{QUEUED_LAUNCHES} launches wait already; cancel some of them first")
        waiting = waiting_of(launch.by)
        require(allowance, "waiting_launches", len(waiting) + 1)
        expected_s = launch.expected_s + sum(one.expected_s for one in waiting)
        require(allowance, "waiting_expected_s", expected_s)
        launch.save()
    return launch


def waiting_of(person: str) -> list[Launch]:
    """Return the launches of this person that wait."""
    return list(Launch.objects.filter(by=person, state=State.QUEUED))


def used_s(engine: str) -> dict[str, float]:
    """Real seconds that each person's launches have used on this engine within LATELY_S.

    A launch that runs counts with what it is expected to take, so that its person is not next
    again just because it has only begun.
    """
    now = timezone.now()
    since = now - timedelta(seconds=LATELY_S)
    found: dict[str, float] = defaultdict(float)
    recent = Launch.objects.filter(Q(ended_at__gt=since) | Q(state=State.RUNNING), engine=engine)
    used = recent.values_list(  # without the specs: pages ask often
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
    """The order in which launches that wait on one engine begin.

    Launches that a teacher has put before all others come first, one that gives way comes last.
    Among the others each time the person is next who has used least; what has been given to a
    person counts as used. A person's own launches keep their order.
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
    """Return the next launch for a free place of simulated launches."""
    return next((one for one in ordered if not quick or one.expected_s <= QUICK_S), None)


def claim() -> Launch | None:
    """The launch to be carried out next, now running; None if nothing may begin."""
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
    for quick in _free_places(simulated):
        if (chosen := _next_for_place(ordered, quick=quick)) is not None:
            return chosen
    return None


def _free_places(simulated: Sequence[Launch]) -> list[bool]:
    """Whether each free place is the quick one. A running launch that can be there is there."""
    is_quick_taken = any(one.expected_s <= QUICK_S for one in simulated)
    free = SIMULATED_AT_ONCE - (len(simulated) - is_quick_taken)
    return [False] * free + [True] * (not is_quick_taken)


def _ordered(engine: str) -> list[Launch]:
    queued = Launch.objects.filter(state=State.QUEUED, engine=engine)
    return in_turn(list(queued), used_s(engine)) if queued else []


def end(launch: Launch, state: State, reason: str = "") -> None:
    """It has ended; the first to say so is right."""
    with transaction.atomic():
        current = Launch.objects.get(pk=launch.pk)
        if current.state == State.RUNNING:
            current.state, current.reason, current.ended_at = state, reason, timezone.now()
            current.process = current.process_began = None
            if state == State.DONE:
                current.done_ratio = 1.0
            current.save()


def cancel(launch: Launch) -> None:
    """Nobody wants it any more: it leaves the queue, or whoever carries it out stops it."""
    with transaction.atomic():
        current = Launch.objects.get(pk=launch.pk)
        if current.state == State.QUEUED:
            current.state, current.ended_at = State.CANCELLED, timezone.now()
            current.save()
        elif current.state == State.RUNNING:
            current.cancel_asked = True
            current.save()


def move_first(launch: Launch) -> None:
    """Put a launch before all others that wait: places below 0 come before everybody's turn."""
    with transaction.atomic():
        first = Launch.objects.filter(state=State.QUEUED).order_by("place").first()
        if first is not None and (first.pk != launch.pk or first.place > 0):
            place = min(0, first.place) - 1
            Launch.objects.filter(pk=launch.pk, state=State.QUEUED).update(place=place)


def reap() -> None:
    """Mark what has died in the middle: the process that carried it out is not there any more."""
    for launch in Launch.objects.filter(state=State.RUNNING):
        if launch.process is None or not living.lives(launch.process, launch.process_began):
            end(
                launch,
                State.INTERRUPTED,
                "Whoever carried it out has died; what was measured until then is kept.",
            )


def line() -> list[tuple[Launch, int | None]]:
    """What waits, by when it begins, and about when that is in real seconds from now.

    The time is None behind a launch of which nobody knows how long it takes.
    """
    running = list(Launch.objects.filter(state=State.RUNNING))
    found = starts(
        _ordered("live"),
        _ordered("simulated"),
        [(one, left_s(one)) for one in running],
    )
    return [(one, math.ceil(start_s) if math.isfinite(start_s) else None) for one, start_s in found]


def elapsed_s(one: Launch) -> float:
    """Return for how many real seconds a launch has been running."""
    return (timezone.now() - one.began_at).total_seconds() if one.began_at else 0.0


def left_s(one: Launch) -> float:
    """Return about how many more real seconds a running launch takes.

    The prediction counts less, and the pace until now counts more, the more of the launch is done.
    """
    elapsed = elapsed_s(one)
    at_this_pace_s = elapsed / one.done_ratio if one.done_ratio > 0 else 0.0
    whole_s = one.done_ratio * at_this_pace_s + (1 - one.done_ratio) * one.expected_s
    return max(0.0, whole_s - elapsed)


def starts(
    live: Sequence[Launch],
    simulated: Sequence[Launch],
    running: Sequence[tuple[Launch, float]],
) -> list[tuple[Launch, float]]:
    """When each launch that waits begins, real seconds from now, the earliest first.

    `live` and `simulated` are in turn; `running`: what runs, and how long each still takes.
    """
    found: list[tuple[Launch, float]] = []
    live_s = sum(left_s for one, left_s in running if one.is_live)
    for one in live:
        found.append((one, live_s))
        live_s += one.expected_s
    busy = [(left_s, one) for one, left_s in running if not one.is_live]
    places = [(0.0, quick) for quick in _free_places([one for _, one in busy])]
    quick = min((pair for pair in busy if pair[1].expected_s <= QUICK_S), default=None, key=_first)
    places += [(left_s, quick is not None and one is quick[1]) for left_s, one in busy]
    heapq.heapify(places)
    waiting = list(simulated)
    while waiting and places:
        free_s, is_quick = heapq.heappop(places)
        chosen = _next_for_place(waiting, quick=is_quick)
        if chosen is None:  # the quick place has nothing left to do
            continue
        waiting.remove(chosen)
        found.append((chosen, free_s))
        heapq.heappush(places, (free_s + chosen.expected_s, is_quick))
    return sorted(found, key=lambda pair: pair[1])


def _first(pair: tuple[float, Launch]) -> float:
    return pair[0]
