"""The queue and the page of one launch.

Owns: these pages. Must not know: how a launch is carried out.
"""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from lab.console import people, queueing, working
from lab.console.models import ENDED, Launch, State

LAST = 30
OVER = 286
"""Status of htmx: it asks no more."""


def _lists() -> dict[str, object]:
    running = list(Launch.objects.filter(state=State.RUNNING))
    queued = list(Launch.objects.filter(state=State.QUEUED))
    starts = queueing.starts_in_s(queued, running)
    return {
        "running": running,
        "queued": [(number, one, starts.get(one.pk)) for number, one in enumerate(queued, start=1)],
        "ended": Launch.objects.filter(state__in=ENDED).order_by("-ended_at")[:LAST],
    }


@require_GET
def queue(request: HttpRequest) -> HttpResponse:
    """What runs, what waits and from when, what has ended."""
    return render(request, "console/queue.html", _lists())


@require_GET
def table(request: HttpRequest) -> HttpResponse:
    """The same without a page around it; asked for every two seconds."""
    return render(request, "console/queue_table.html", _lists())


@require_GET
def one(request: HttpRequest, pk: str) -> HttpResponse:
    """One launch, its permanent address."""
    return render(
        request, "console/launch_page.html", _facts(request, get_object_or_404(Launch, pk=pk))
    )


@require_GET
def state(request: HttpRequest, pk: str) -> HttpResponse:
    """Where it stands, without a page around it; asked for every second until it has ended."""
    launch = get_object_or_404(Launch, pk=pk)
    return render(
        request,
        "console/launch_state.html",
        _facts(request, launch) | {"renewed": True},
        status=OVER if launch.has_ended else 200,
    )


@require_POST
def cancel(request: HttpRequest, pk: str) -> HttpResponse:
    """Nobody wants it any more."""
    launch = get_object_or_404(Launch, pk=pk)
    queueing.cancel(launch)
    return redirect("launch-page", launch.pk)


@require_POST
def first(request: HttpRequest, pk: str) -> HttpResponse:
    """Before all others that wait."""
    launch = get_object_or_404(Launch, pk=pk)
    queueing.move_first(launch)
    return redirect("queue")


def _facts(request: HttpRequest, launch: Launch) -> dict[str, object]:
    queued = list(Launch.objects.filter(state=State.QUEUED))
    running = list(Launch.objects.filter(state=State.RUNNING))
    log = working.folder_of(launch) / "output.log"
    try:
        output = log.read_text(errors="replace")[-6000:]
    except OSError:
        output = ""
    return {
        "launch": launch,
        "may_cancel": people.owns(request, launch),
        "position": next((n for n, q in enumerate(queued, start=1) if q.pk == launch.pk), None),
        "starts_in_s": queueing.starts_in_s(queued, running).get(launch.pk),
        "output": output,
    }
