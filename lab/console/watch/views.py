"""The watch page, which shows the running shop. The page has forms that change the shop, and a
stream of samples."""

import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_POST

from lab.console.models import Launch
from lab.console.site.permissions import Permission, is_logged_in, owns, readers
from lab.console.site.settings import LAB
from lab.console.watch import live_run
from lab.console.watch.control_bar import applied, forms_in_force
from lab.console.watch.forms import (
    PROPOSED_SHADOW,
    AbandonmentForm,
    FaultForm,
    LoadForm,
    PolicyForm,
)
from lab.console.watch.shared import watch as broadcast
from lab.engines.live import faults
from lab.errors import ExperimentError
from lab.runner import under_way


def _for_whose_run_is_under_way(request: HttpRequest, arguments: Mapping[str, Any]) -> str:
    going = live_run.under_way()
    # A launch that waits for the machine has no run, and changes nothing.
    owns_run = going is not None and going.run is not None and owns(request, going.launch)
    if LAB.lab_classroom:
        return "In classroom mode, only a teacher can change the shop."
    if owns_run:
        return ""
    return (
        "Only a teacher and the person who launched the live run in progress can change the shop."
    )


run_owners = Permission(sends=_for_whose_run_is_under_way)
"""The permission of the watch page. All people can watch the shop, and teachers can change it.
Outside classroom mode, the person who launched the live run can also change it."""

ASK_EVERY_S = 2.0
"""The interval, in real seconds, at which a stream checks its viewer's login."""
_SHADOW_WITHOUT_RUN = (
    "No run is in progress. The shadow sees only visitors' requests, and ends when a run begins."
)


def part_or_page(request: HttpRequest, part: str, context: dict[str, object]) -> HttpResponse:
    """Return the changed part of the page if htmx sent the request, or the whole page if the
    browser has no JavaScript."""
    if request.headers.get("HX-Request"):
        return render(request, part, context)
    return render(request, "console/watch.html", forms_in_force() | context)


@readers
@require_GET
def watch(request: HttpRequest) -> HttpResponse:
    """Show the watch page, whose charts the stream updates."""
    return render(request, "console/watch.html", forms_in_force())


@readers
@require_GET
def running(request: HttpRequest) -> HttpResponse:
    """Return the banner of every page as a fragment: the live run in progress, or the ended launch
    that the banner showed until now."""
    key = request.GET.get("launch", "")
    launch = Launch.objects.filter(pk=key).first() if key.isalnum() else None
    ended = launch if launch is not None and launch.has_ended else None
    return render(request, "console/running.html", {"banner_of": ended})


@run_owners
@require_GET
def policy_fields(request: HttpRequest) -> HttpResponse:
    """Return the form for the chosen policy as a fragment."""
    form = PolicyForm({name: request.GET.get(name, "") for name in ("policy", "admission")})
    form.is_valid()
    return render(request, "console/watch_policy.html", {"policy_form": form})


@run_owners
@require_POST
def switch(request: HttpRequest) -> HttpResponse:
    """Switch the gateway to another policy from now on. No waiting request is lost."""
    form = PolicyForm(request.POST.dict())
    context: dict[str, object] = {"policy_form": form, "policy_said": ""}
    if (call := form.call()) is not None:
        try:
            context["policy_said"] = under_way.change(
                LAB, lambda appliance: appliance.gateway.call("PUT", "/policy", call)
            )
        except ExperimentError as fault:
            form.add_error(None, str(fault))
    return part_or_page(request, "console/watch_policy.html", context)


@run_owners
@require_GET
def shadow_fields(request: HttpRequest) -> HttpResponse:
    """Return the form for the chosen shadow as a fragment."""
    chosen = {name: request.GET.get(name, "") for name in ("policy", "admission")}
    form = PolicyForm(chosen, "shadow")
    form.is_valid()
    return render(request, "console/watch_shadow.html", {"shadow_form": form})


@run_owners
@require_POST
def shadow(request: HttpRequest) -> HttpResponse:
    """Add a shadow: a policy that decides about the same requests, without any effect."""
    form = PolicyForm(request.POST.dict(), "shadow")
    context: dict[str, object] = {"shadow_form": form, "shadow_said": ""}
    if (call := form.call()) is not None:
        try:
            context["shadow_said"] = under_way.change(
                LAB,
                lambda appliance: appliance.add_shadow(call),
                without_run=_SHADOW_WITHOUT_RUN,
            )
        except ExperimentError as fault:
            form.add_error(None, str(fault))
    return part_or_page(request, "console/watch_shadow.html", context)


@run_owners
@require_POST
def shadow_away(request: HttpRequest) -> HttpResponse:
    form = PolicyForm(PROPOSED_SHADOW, "shadow")
    context: dict[str, object] = {"shadow_form": form, "shadow_said": ""}
    name = request.POST.get("name", "")
    try:
        context["shadow_said"] = under_way.change(
            LAB,
            lambda appliance: appliance.remove_shadow(name),
            done="Removed",
            without_run="",
        )
    except ExperimentError as fault:
        form.add_error(None, str(fault))
    return part_or_page(request, "console/watch_shadow.html", context)


@run_owners
@require_POST
def abandonment(request: HttpRequest) -> HttpResponse:
    """Change how the shop treats a request whose customer has left."""
    form = AbandonmentForm(request.POST)
    context = applied(
        "abandonment",
        form,
        lambda given: under_way.change(
            LAB, lambda appliance: appliance.set_abandonment(given["abandonment"])
        ),
    )
    return part_or_page(request, "console/watch_abandonment.html", context)


@run_owners
@require_POST
def load(request: HttpRequest) -> HttpResponse:
    form = LoadForm(request.POST)
    context = applied("load", form, lambda given: under_way.change_load(LAB, given["load_factor"]))
    return part_or_page(request, "console/watch_load.html", context)


@run_owners
@require_POST
def fault(request: HttpRequest) -> HttpResponse:
    """Make the database slow for some time. The shop ends this fault by itself."""
    form = FaultForm(request.POST)
    context = applied(
        "fault",
        form,
        lambda given: under_way.cause_fault(LAB, faults.SLOW_DATABASE, given["for_s"]),
    )
    return part_or_page(request, "console/watch_fault.html", context)


@run_owners
@require_POST
def as_it_began(request: HttpRequest) -> HttpResponse:
    """Restore the policy, load and abandonment with which the run began, and end all faults."""
    said: dict[str, object]
    try:
        said = {"began_said": under_way.restore(LAB)}
    except ExperimentError as fault:
        said = {"began_fault": str(fault)}
    return part_or_page(request, "console/watch_bar.html", forms_in_force() | said)


@run_owners
async def stream(request: HttpRequest) -> HttpResponseBase:
    """Send the event `history` once, and then the event `look` twice a second, until the viewer
    leaves.

    For a stream with `?glance`, the waiting requests are not fetched. If a browser reconnects and
    names the last sample that it received, the stream continues after that sample. The stream also
    ends when its viewer's session or the server ends.
    """
    closely = "glance" not in request.GET
    last_seen = request.headers.get("Last-Event-ID", "")

    async def events() -> AsyncIterator[bytes]:
        yield b"retry: 1000\n\n"
        looks = broadcast.follow(last_seen, closely=closely)
        asked_at = time.monotonic()
        try:
            async for look in looks:
                if time.monotonic() > asked_at + ASK_EVERY_S:
                    if not await is_logged_in(request):
                        return
                    asked_at = time.monotonic()
                yield look
        finally:
            await looks.aclose()

    response = StreamingHttpResponse(events(), content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response
