"""The launches as pages show them: the lists of the queue, and the details of one launch."""

from typing import Any

from django.http import HttpRequest

from common import log_tail
from lab.console.launches import queue, workers
from lab.console.models import ENDED, Launch, State
from lab.console.results import result_list
from lab.console.site import permissions

MOST_ENDED = 30
"""The number of ended launches that the page of the queue shows."""


def queue_lists(by: str = "") -> dict[str, Any]:
    """Return the running, the waiting and the ended launches, as the page of the queue shows them.
    If `by` names a person, the lists contain only this person's launches."""
    # A launch can move to the next list between two queries. In this order, no launch is
    # missed, and a launch that is found twice appears only in the later list.
    queued = queue.line()
    running = list(Launch.objects.filter(state=State.RUNNING))
    ended_of_all = Launch.objects.filter(state__in=ENDED, **({"by": by} if by else {}))
    ended = list(ended_of_all.order_by("-ended_at")[:MOST_ENDED])
    moved_on = {one.pk for one in ended}
    running = [one for one in running if one.pk not in moved_on]
    moved_on |= {one.pk for one in running}
    queued = [(one, starts_in_s) for one, starts_in_s in queued if one.pk not in moved_on]
    results = result_list.existing(one.result for one in ended if one.result)
    used = {engine: queue.used_s(engine) for engine in ("live", "simulated")}
    return {
        "running": [
            (one, queue.elapsed_s(one), queue.shown_left_s(one))
            for one in running
            if by in ("", one.by)
        ],
        "queued": [
            (number, one, starts_in_s, used[one.engine].get(one.by))
            for number, (one, starts_in_s) in enumerate(queued, start=1)
            if by in ("", one.by)
        ],
        "ended": [(one, results.get(one.result)) for one in ended],
        "quick_s": queue.QUICK_S,
    }


def launch_details(request: HttpRequest, launch: Launch) -> dict[str, Any]:
    """Return the details of a launch for the launch's page."""
    position, starts_in_s = None, None
    if launch.state == State.QUEUED:
        for number, (one, its_start_s) in enumerate(queue.line(), start=1):
            if one.pk == launch.pk:
                position, starts_in_s = number, its_start_s
    log = workers.folder_of(launch) / "output.log"
    return {
        "launch": launch,
        "result": result_list.entry_of(launch.result) if launch.result else None,
        "elapsed_s": queue.elapsed_s(launch),
        "left_s": queue.shown_left_s(launch),
        "may_cancel": permissions.owns(request, launch),
        "position": position,
        "starts_in_s": starts_in_s,
        "output": log_tail.read(log)[-6000:],
    }
