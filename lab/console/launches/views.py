"""The pages of the queue and of one launch, the upload of a spec, and the repetition of a
result."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse

from common import log_tail
from lab.console.launches import queue as launch_queue
from lab.console.launches import workers
from lab.console.launches.submission import of_spec, sent_spec, submit
from lab.console.models import ENDED, Launch, State
from lab.console.results import imports, result_list
from lab.console.results.origins import differences, policy_readers
from lab.console.results.result_list import result_of
from lab.console.site import allowances, permissions, rates
from lab.console.site.permissions import launch_owners, readers, students
from lab.console.site.settings import LAB
from lab.errors import ExperimentError, SpecError
from lab.results.comparison import ComparisonResult
from lab.spec.experiment import changed

MOST_ENDED = 30
"""The number of ended launches that the page of the queue shows."""
OVER = 286
"""The HTTP status that makes htmx stop polling."""
LEADS_AFTER_S = 4
"""The time, in real seconds, from the end of a launch until its page opens the result."""


@students.post
def upload(request: HttpRequest) -> HttpResponse:
    """Launch the spec in an uploaded file."""
    sent = request.FILES.get("spec")
    if sent is None:
        messages.error(request, "Choose a spec file (TOML) first.")
        return redirect("gallery")
    try:
        spec = sent_spec(request, sent.name or "file", sent.read())
    except SpecError as fault:
        messages.error(request, str(fault))
        return redirect("gallery")
    return submit(request, lambda: of_spec(spec).launch(permissions.allowance_of(request)))


@policy_readers.post
def again(request: HttpRequest, name: str) -> HttpResponse:
    """Launch the spec of a result again, with the same first seed. The optional field `repetitions`
    replaces the number of repetitions."""
    result = result_of(name)
    try:
        spec = None if result.is_reproduction else ComparisonResult(result.path).spec()
        if spec is not None:
            spec = changed(spec, repetitions=request.POST.get("repetitions"))
    except ExperimentError as fault:
        messages.error(request, str(fault))
        return redirect("result", name)
    if spec is None:
        raise Http404
    for words in differences(result):
        messages.warning(request, f"This run differs from the original run in: {words}.")
    return submit(request, lambda: of_spec(spec).launch(permissions.allowance_of(request)))


def queue_lists(by: str = "") -> dict[str, Any]:
    """Return the running, the waiting and the ended launches, as the page of the queue shows them.
    If `by` names a person, the lists contain only this person's launches."""
    # A launch can move to the next list between two queries. In this order, no launch is
    # missed, and a launch that is found twice appears only in the later list.
    queued = launch_queue.line()
    running = list(Launch.objects.filter(state=State.RUNNING))
    ended_of_all = Launch.objects.filter(state__in=ENDED, **({"by": by} if by else {}))
    ended = list(ended_of_all.order_by("-ended_at")[:MOST_ENDED])
    moved_on = {one.pk for one in ended}
    running = [one for one in running if one.pk not in moved_on]
    moved_on |= {one.pk for one in running}
    queued = [(one, starts_in_s) for one, starts_in_s in queued if one.pk not in moved_on]
    results = result_list.existing(one.result for one in ended if one.result)
    used = {engine: launch_queue.used_s(engine) for engine in ("live", "simulated")}
    return {
        "running": [
            (one, launch_queue.elapsed_s(one), launch_queue.shown_left_s(one))
            for one in running
            if by in ("", one.by)
        ],
        "queued": [
            (number, one, starts_in_s, used[one.engine].get(one.by))
            for number, (one, starts_in_s) in enumerate(queued, start=1)
            if by in ("", one.by)
        ],
        "ended": [(one, results.get(one.result)) for one in ended],
        "quick_s": launch_queue.QUICK_S,
    }


@readers.get
def queue(request: HttpRequest) -> HttpResponse:
    return render(request, "console/queue.html", queue_lists())


@readers.get
def table(request: HttpRequest) -> HttpResponse:
    """Return the lists of the queue as a fragment."""
    return render(request, "console/queue_table.html", queue_lists())


def launch_details(request: HttpRequest, launch: Launch) -> dict[str, Any]:
    """Return the details of a launch for the launch's page."""
    position, starts_in_s = None, None
    if launch.state == State.QUEUED:
        for number, (one, its_start_s) in enumerate(launch_queue.line(), start=1):
            if one.pk == launch.pk:
                position, starts_in_s = number, its_start_s
    log = workers.folder_of(launch) / "output.log"
    return {
        "launch": launch,
        "result": result_list.entry_of(launch.result) if launch.result else None,
        "elapsed_s": launch_queue.elapsed_s(launch),
        "left_s": launch_queue.shown_left_s(launch),
        "may_cancel": permissions.owns(request, launch),
        "position": position,
        "starts_in_s": starts_in_s,
        "output": log_tail.read(log)[-6000:],
    }


@readers.get
def one(request: HttpRequest, pk: str) -> HttpResponse:
    return render(
        request,
        "console/launch_page.html",
        launch_details(request, get_object_or_404(Launch, pk=pk)),
    )


@readers.get
def state(request: HttpRequest, pk: str) -> HttpResponse:
    """Return the state of a launch as a fragment."""
    launch = get_object_or_404(Launch, pk=pk)
    return render(
        request,
        "console/launch_state.html",
        launch_details(request, launch) | {"renewed": True, "leads_after_s": LEADS_AFTER_S},
        status=OVER if launch.has_ended else 200,
    )


@readers.get
def result(request: HttpRequest, pk: str) -> HttpResponse:
    """Redirect a browser with JavaScript from a launch's page to the launch's result."""
    found = result_of(get_object_or_404(Launch, pk=pk).result)
    return HttpResponse(headers={"HX-Redirect": reverse("result", args=[found.name])})


@launch_owners.post
def cancel(request: HttpRequest, pk: str) -> HttpResponse:
    launch = get_object_or_404(Launch, pk=pk)
    launch_queue.cancel(launch)
    return redirect("launch-page", launch.pk)


@readers.post
def first(request: HttpRequest, pk: str) -> HttpResponse:
    """Move a launch to the front of the queue."""
    launch = get_object_or_404(Launch, pk=pk)
    launch_queue.move_first(launch)
    return redirect("queue")


@readers.get
def limits(request: HttpRequest) -> HttpResponse:
    """Show the limits of the person who sends the request."""
    allowance = permissions.allowance_of(request)
    waiting = launch_queue.waiting_of(permissions.name_of(request))
    kept = imports.kept_by(LAB.results_dir, permissions.name_of(request))
    used: dict[str, float] = {
        "kept_imports": len(kept),
        "kept_import_bytes": sum(mark.size_bytes for mark in kept),
        "waiting_launches": len(waiting),
        "waiting_expected_s": sum(one.expected_s for one in waiting),
        **rates.spent(allowance, permissions.key_of(request)),
    }
    rows = [
        (
            title,
            allowances.written(name, getattr(allowance, name)),
            allowances.written(name, used[name]) if name in used else "",
            name,
        )
        for name, title in allowances.limits().items()
    ]
    context = {"rows": rows, "allowance": allowance, "variable": allowances.VARIABLE}
    return render(request, "console/limits.html", context)


urlpatterns = [
    path("upload/", upload, name="upload"),
    path("results/<str:name>/again", again, name="result-again"),
    path("launches/", queue, name="queue"),
    path("launches/table", table, name="queue-table"),
    path("launches/<str:pk>/", one, name="launch-page"),
    path("launches/<str:pk>/state", state, name="launch-state"),
    path("launches/<str:pk>/result", result, name="launch-result"),
    path("launches/<str:pk>/cancel", cancel, name="launch-cancel"),
    path("launches/<str:pk>/first", first, name="launch-first"),
    path("limits/", limits, name="limits"),
]
