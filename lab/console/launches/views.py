"""The form of a launch, the queue, and the page of one launch."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from lab.console.gallery import cards
from lab.console.launches import queue as launch_queue
from lab.console.launches.forms import LaunchForm, initial, uploaded
from lab.console.launches.listing import launch_details, queue_lists
from lab.console.launches.submission import allowed_real_s, launch_of_spec, submit
from lab.console.models import Launch
from lab.console.site import permissions
from lab.console.site.allowances import AllowanceError, require
from lab.console.site.permissions import launch_owners, readers, students
from lab.console.site.rates import spend
from lab.errors import SpecError
from lab.spec.experiment import Spec

OVER = 286
"""Status of htmx: it asks no more."""


@students
@require_http_methods(["GET", "POST"])
def launch(request: HttpRequest, name: str) -> HttpResponse:
    """Show the form of an experiment; a launch that is sent joins the queue."""
    card = cards.card(name)
    if card is None:
        raise Http404
    base = card.spec
    allowance = permissions.allowance_of(request)
    if base is None:  # a reproduction has nothing to set
        if request.method == "POST":
            return submit(request, lambda: cards.launch_of(card, allowance))
        return render(request, "console/launch.html", {"card": card})
    form = LaunchForm(request.POST or None, initial=initial(base))
    if request.method == "POST":
        spec = form.spec(base, allowance)
        if spec is not None:
            if "download" in request.POST:
                return _toml(spec)
            try:
                wanted = launch_of_spec(spec, allowance)
                return submit(request, lambda: wanted)
            except AllowanceError as fault:
                form.add_error(None, str(fault))
    return render(
        request,
        "console/launch.html",
        {"card": card, "form": form, "expected_s": card.real_s},
        status=400 if form.errors else 200,
    )


@students
@require_POST
def predict(request: HttpRequest, name: str) -> HttpResponse:
    """Show how long the launch in the form will take; the page asks whenever a field changes."""
    card = cards.card(name)
    base = card.spec if card else None
    if base is None:
        raise Http404
    allowance = permissions.allowance_of(request)
    context: dict[str, object] = {"expected_s": None}
    try:
        spend(allowance, "predictions_per_minute", permissions.key_of(request))
        spec = LaunchForm(request.POST).spec(base, allowance)
        if spec is not None:
            context["expected_s"] = allowed_real_s(spec, allowance)
    except AllowanceError as fault:
        context["refusal"] = str(fault)
    return render(request, "console/prediction.html", context)


@readers
@require_GET
def spec_file(request: HttpRequest, name: str) -> HttpResponse:
    """Return the spec as a file, which a person can edit and upload."""
    card = cards.card(name)
    spec = card.spec if card else None
    if spec is None:
        raise Http404
    return _toml(spec)


@students
@require_POST
def upload(request: HttpRequest) -> HttpResponse:
    """Launch the spec in an uploaded file."""
    sent = request.FILES.get("spec")
    if sent is None:
        messages.error(request, "Choose a spec file (TOML) first.")
        return redirect("gallery")
    allowance = permissions.allowance_of(request)
    try:
        spend(allowance, "uploads_per_minute", permissions.key_of(request))
        require(allowance, "spec_bytes", sent.size or 0)
        spec = uploaded(sent.name or "file", sent.read(), allowance)
    except SpecError as fault:
        messages.error(request, str(fault))
        return redirect("gallery")
    return submit(request, lambda: launch_of_spec(spec, allowance))


@readers
@require_GET
def queue(request: HttpRequest) -> HttpResponse:
    """Show the launches that run, wait and have ended."""
    return render(request, "console/queue.html", queue_lists())


@readers
@require_GET
def table(request: HttpRequest) -> HttpResponse:
    """Show the same lists without a page around them; the page asks every two seconds."""
    return render(request, "console/queue_table.html", queue_lists())


@readers
@require_GET
def one(request: HttpRequest, pk: str) -> HttpResponse:
    """Show one launch; its address stays."""
    return render(
        request,
        "console/launch_page.html",
        launch_details(request, get_object_or_404(Launch, pk=pk)),
    )


@readers
@require_GET
def state(request: HttpRequest, pk: str) -> HttpResponse:
    """Show its state without a page around it; the page asks every second until it has ended."""
    launch = get_object_or_404(Launch, pk=pk)
    return render(
        request,
        "console/launch_state.html",
        launch_details(request, launch) | {"renewed": True},
        status=OVER if launch.has_ended else 200,
    )


@launch_owners
@require_POST
def cancel(request: HttpRequest, pk: str) -> HttpResponse:
    """Cancel a launch."""
    launch = get_object_or_404(Launch, pk=pk)
    launch_queue.cancel(launch)
    return redirect("launch-page", launch.pk)


@readers
@require_POST
def first(request: HttpRequest, pk: str) -> HttpResponse:
    """Put a launch before all others that wait."""
    launch = get_object_or_404(Launch, pk=pk)
    launch_queue.move_first(launch)
    return redirect("queue")


def _toml(spec: Spec) -> HttpResponse:
    words = "".join(c if c.isalnum() else "-" for c in spec.title.lower()).strip("-")[:60]
    response = HttpResponse(spec.to_toml(), content_type="application/toml; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{words or "spec"}.toml"'
    return response
