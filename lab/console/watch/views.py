"""The watch page, which shows the running shop. The page has forms that change the shop, and a
stream of samples."""

import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.urls import path

from gateway.policies.interface import PAGES
from lab.console.models import Launch
from lab.console.site.permissions import Permission, is_logged_in, owns, readers
from lab.console.site.settings import LAB
from lab.console.watch import live_run
from lab.console.watch.forms import (
    PROPOSED_SHADOW,
    AbandonmentForm,
    FaultForm,
    LoadForm,
    PolicyForm,
    in_force,
)
from lab.console.watch.live_run import watch as broadcast
from lab.engines.live import faults
from lab.engines.live.appliance import Appliance
from lab.errors import ExperimentError
from lab.runner import under_way


def _for_whose_run_is_under_way(request: HttpRequest, arguments: Mapping[str, Any]) -> str:
    if LAB.lab_classroom:
        return "In classroom mode, only a teacher can change the shop."
    going = live_run.under_way()
    # A launch that waits for the machine has no run, and changes nothing.
    if going is not None and going.run is not None and owns(request, going.launch):
        return ""
    return (
        "Only a teacher and the person who launched the live run in progress can change the shop."
    )


run_owners = Permission(sends=_for_whose_run_is_under_way)
"""The permission of the watch page. Everyone can watch the shop, and teachers can change it.
Outside classroom mode, the person who launched the live run can also change it."""

ASK_EVERY_S = 2.0
"""The interval, in real seconds, at which a stream checks its viewer's login."""
_SHADOW_WITHOUT_RUN = (
    "No run is in progress, so the shadow decides only on visitors' requests. When a run begins, "
    "the shadow ends."
)


def _forms_in_force() -> dict[str, object]:
    """Return the forms of the control bar, filled with the gateway's present settings."""
    appliance = Appliance(LAB)
    try:
        snapshot = appliance.gateway.call("GET", "/snapshot")
        policy, mode = in_force(snapshot["policy"]), snapshot["abandonment"]["mode"]
    except ExperimentError:  # the page reports it once the stream begins
        policy, mode = {"policy": "sq"}, "ignore"
    finally:
        appliance.close()
    going = live_run.under_way()
    load_factor = 1.0 if going is None else float(going.told().get("load_factor", 1.0))
    return {
        "policy_form": PolicyForm(policy),
        "abandonment_form": AbandonmentForm({"abandonment": mode}),
        "load_form": LoadForm({"load_factor": f"{load_factor:g}"}),
        "fault_form": FaultForm(),
        "shadow_form": PolicyForm(PROPOSED_SHADOW, "shadow"),
        "pages": list(PAGES),
    }


def _part_or_page(request: HttpRequest, part: str, context: dict[str, object]) -> HttpResponse:
    """Return the changed part for htmx, or the whole page without JavaScript."""
    if request.headers.get("HX-Request"):
        return render(request, f"console/watch_{part}.html", context)
    return render(request, "console/watch.html", _forms_in_force() | context)


def _changed(
    request: HttpRequest, part: str, form: forms.Form, is_valid: bool, change: Callable[[], str]
) -> HttpResponse:
    """Make the change of a valid form. Answer with its text, or with its error in the form."""
    said = ""
    if is_valid:
        try:
            said = change()
        except ExperimentError as fault:
            form.add_error(None, str(fault))
    return _part_or_page(request, part, {f"{part}_form": form, f"{part}_said": said})


@readers.get
def watch(request: HttpRequest) -> HttpResponse:
    """Show the watch page, whose charts the stream updates."""
    return render(request, "console/watch.html", _forms_in_force())


@readers.get
def running(request: HttpRequest) -> HttpResponse:
    """Return the banner of every page as a fragment: the live run in progress, or the ended launch
    that the banner showed until now."""
    key = request.GET.get("launch", "")
    launch = Launch.objects.filter(pk=key).first() if key.isalnum() else None
    ended = launch if launch is not None and launch.has_ended else None
    return render(request, "console/running.html", {"banner_of": ended})


def _chosen(request: HttpRequest, ids: str = "id") -> PolicyForm:
    form = PolicyForm({name: request.GET.get(name, "") for name in ("policy", "admission")}, ids)
    form.is_valid()
    return form


@run_owners.get
def policy_fields(request: HttpRequest) -> HttpResponse:
    """Return the form for the chosen policy as a fragment."""
    return render(request, "console/watch_policy.html", {"policy_form": _chosen(request)})


@run_owners.get
def shadow_fields(request: HttpRequest) -> HttpResponse:
    """Return the form for the chosen shadow as a fragment."""
    return render(request, "console/watch_shadow.html", {"shadow_form": _chosen(request, "shadow")})


@run_owners.post
def switch(request: HttpRequest) -> HttpResponse:
    """Switch the gateway to another policy from now on. No waiting request is lost."""
    form = PolicyForm(request.POST.dict())
    call = form.call()

    def change() -> str:
        return under_way.change(LAB, lambda shop: shop.gateway.call("PUT", "/policy", call))

    return _changed(request, "policy", form, call is not None, change)


@run_owners.post
def shadow(request: HttpRequest) -> HttpResponse:
    """Add a shadow: a policy that decides about the same requests, without any effect."""
    form = PolicyForm(request.POST.dict(), "shadow")
    call = form.call()

    def change() -> str:
        assert call is not None
        return under_way.change(
            LAB, lambda shop: shop.add_shadow(call), without_run=_SHADOW_WITHOUT_RUN
        )

    return _changed(request, "shadow", form, call is not None, change)


@run_owners.post
def shadow_away(request: HttpRequest) -> HttpResponse:
    form = PolicyForm(PROPOSED_SHADOW, "shadow")
    name = request.POST.get("name", "")

    def change() -> str:
        return under_way.change(
            LAB, lambda shop: shop.remove_shadow(name), done="Removed", without_run=""
        )

    return _changed(request, "shadow", form, True, change)


@run_owners.post
def abandonment(request: HttpRequest) -> HttpResponse:
    """Change how the shop treats a request whose customer has left."""
    form = AbandonmentForm(request.POST)

    def change() -> str:
        mode = form.cleaned_data["abandonment"]
        return under_way.change(LAB, lambda shop: shop.set_abandonment(mode))

    return _changed(request, "abandonment", form, form.is_valid(), change)


@run_owners.post
def load(request: HttpRequest) -> HttpResponse:
    form = LoadForm(request.POST)

    def change() -> str:
        return under_way.change_load(LAB, form.cleaned_data["load_factor"])

    return _changed(request, "load", form, form.is_valid(), change)


@run_owners.post
def fault(request: HttpRequest) -> HttpResponse:
    """Make the database slow for some time. The shop ends this fault by itself."""
    form = FaultForm(request.POST)

    def change() -> str:
        return under_way.cause_fault(LAB, faults.SLOW_DATABASE, form.cleaned_data["for_s"])

    return _changed(request, "fault", form, form.is_valid(), change)


@run_owners.post
def as_it_began(request: HttpRequest) -> HttpResponse:
    """Restore the policy, load and abandonment with which the run began, and end all faults."""
    said: dict[str, object]
    try:
        said = {"began_said": under_way.restore(LAB)}
    except ExperimentError as fault:
        said = {"began_fault": str(fault)}
    return _part_or_page(request, "bar", _forms_in_force() | said)


@run_owners
async def stream(request: HttpRequest) -> HttpResponseBase:
    """Send the event `history` once, and then the event `look` twice a second, until the viewer
    leaves.

    For a stream with `?glance`, the console does not fetch the waiting requests. If a browser
    reconnects and names the last sample that it received, the stream continues after that sample.
    The stream also ends when its viewer's session or the server ends.
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


urlpatterns = [
    path("watch/", watch, name="watch"),
    path("watch/running", running, name="running"),
    path("watch/policy", switch, name="watch-switch"),
    path("watch/policy/fields", policy_fields, name="watch-policy-fields"),
    path("watch/shadow", shadow, name="watch-shadow"),
    path("watch/shadow/fields", shadow_fields, name="watch-shadow-fields"),
    path("watch/shadow/away", shadow_away, name="watch-shadow-away"),
    path("watch/abandonment", abandonment, name="watch-abandonment"),
    path("watch/load", load, name="watch-load"),
    path("watch/fault", fault, name="watch-fault"),
    path("watch/as-it-began", as_it_began, name="watch-as-it-began"),
    path("watch/stream", stream, name="watch-stream"),
]
