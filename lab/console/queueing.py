"""The queue of launches: who is next, what stands in whose way, what has died.

Owns: the states of launches and their transitions. Must not know: Celery, pages, commands.

One live launch at a time, for two would spoil each other; simulated ones beside it.
"""

import math
import os
from collections.abc import Sequence

import psutil
from django.db import transaction
from django.utils import timezone

from lab.console.models import Launch, State
from runtime import living

SIMULATED_AT_ONCE = max(1, len(os.sched_getaffinity(0)) - 1)
MOST_QUEUED = 200


class QueueError(ValueError):
    """A launch cannot be taken on; one line for the person who asked."""


def enqueue(launch: Launch) -> Launch:
    """Take it on; raises QueueError when too many wait already."""
    with transaction.atomic():
        if Launch.objects.filter(state=State.QUEUED).count() >= MOST_QUEUED:
            raise QueueError(f"{MOST_QUEUED} launches wait already; cancel some of them first")
        launch.save()
    return launch


def claim() -> Launch | None:
    """The launch to be carried out next, now running; None if nothing may begin."""
    with transaction.atomic():
        reap()
        running = list(Launch.objects.filter(state=State.RUNNING))
        waiting = Launch.objects.filter(state=State.QUEUED)
        chosen = None
        live = next((one for one in running if one.is_live), None)
        if live is None:
            # Whatever gives way begins only when nobody else waits for the machine.
            chosen = waiting.filter(engine="live").order_by("gives_way", "place").first()
        elif live.gives_way and waiting.filter(engine="live", gives_way=False).exists():
            Launch.objects.filter(pk=live.pk).update(cancel_asked=True)
        if chosen is None and sum(not one.is_live for one in running) < SIMULATED_AT_ONCE:
            chosen = waiting.filter(engine="simulated").first()
        if chosen is not None:
            chosen.state = State.RUNNING
            chosen.began_at = timezone.now()
            me = psutil.Process()
            chosen.process, chosen.process_began = me.pid, me.create_time()
            chosen.save()
    return chosen


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
    """Before all others that wait."""
    with transaction.atomic():
        first = Launch.objects.filter(state=State.QUEUED).order_by("place").first()
        if first is not None and first.pk != launch.pk:
            Launch.objects.filter(pk=launch.pk, state=State.QUEUED).update(place=first.place - 1)


def reap() -> None:
    """Mark what has died in the middle: the process that carried it out is not there any more."""
    for launch in Launch.objects.filter(state=State.RUNNING):
        if launch.process is None or not living.lives(launch.process, launch.process_began):
            end(
                launch,
                State.INTERRUPTED,
                "Whoever carried it out has died; what was measured until then is kept.",
            )


def starts_in_s(queued: Sequence[Launch], running: Sequence[Launch]) -> dict[str, int]:
    """About when each that waits will begin, real seconds from now, by id.

    Who stands behind one of which nobody knows how long it takes is left out.
    """
    now = timezone.now()

    def left_s(one: Launch) -> float:
        elapsed_s = (now - one.began_at).total_seconds() if one.began_at else 0.0
        if one.done_ratio > 0.05:
            return elapsed_s / one.done_ratio - elapsed_s
        return max(0.0, one.expected_s - elapsed_s)

    found: dict[str, float] = {}
    live_s = sum(left_s(one) for one in running if one.is_live)
    lanes = sorted(left_s(one) for one in running if not one.is_live)[:SIMULATED_AT_ONCE]
    lanes += [0.0] * (SIMULATED_AT_ONCE - len(lanes))
    for one in queued:
        if one.is_live:
            found[one.pk] = live_s
            live_s += one.expected_s
        else:
            lanes.sort()
            found[one.pk] = lanes[0]
            lanes[0] += one.expected_s
    return {pk: math.ceil(seconds) for pk, seconds in found.items() if math.isfinite(seconds)}
