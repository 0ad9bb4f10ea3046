"""The live shop: queues, load, sessions; and changing things meanwhile.

Owns: the page, changing policy, abandonment and load. Must not know: how the gateway is looked at
(`watching`).
"""

from collections.abc import Callable, Mapping
from typing import Any

from django.forms import Form
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_POST

from gateway.policies.interface import PAGES
from lab.console import shadows
from lab.console.policy_form import AbandonmentForm, LoadForm, PolicyForm, in_force
from lab.console.settings import LAB
from lab.console.under_way import under_way
from lab.experiments.appliance import Appliance
from lab.experiments.errors import ExperimentError


@require_GET
def watch(request: HttpRequest) -> HttpResponse:
    """The page; its pictures move by the stream."""
    return _page(request, {})


@require_GET
def policy_fields(request: HttpRequest) -> HttpResponse:
    """The form of another policy, without a page around it; asked for when one is chosen."""
    form = PolicyForm(_chosen(request))
    form.is_valid()
    return render(request, "console/watch_policy.html", {"policy_form": form})


@require_POST
def switch(request: HttpRequest) -> HttpResponse:
    """Another policy from now on; nobody who waits is lost."""
    form = PolicyForm(_sent(request.POST))
    said = ""
    if (call := form.call()) is not None:
        said = _told(form, lambda appliance: appliance.gateway.call("PUT", "/policy", call))
    return _answer(request, "console/watch_policy.html", {"policy_form": form, "policy_said": said})


@require_GET
def shadow_fields(request: HttpRequest) -> HttpResponse:
    """As `policy_fields`, for a shadow."""
    form = _shadow_form(_chosen(request))
    form.is_valid()
    return render(request, "console/watch_shadow.html", {"shadow_form": form})


@require_POST
def shadow(request: HttpRequest) -> HttpResponse:
    """One more policy beside the acting one from now on."""
    form = _shadow_form(_sent(request.POST))
    said = ""
    if (call := form.call()) is not None:
        said = _told(form, lambda appliance: shadows.add(appliance, call))
    return _answer(request, "console/watch_shadow.html", {"shadow_form": form, "shadow_said": said})


@require_POST
def shadow_away(request: HttpRequest) -> HttpResponse:
    """One of them less."""
    form = _shadow_form(_NO_SHADOW)
    name = request.POST.get("name", "")
    said = _told(form, lambda appliance: shadows.take_away(appliance, name))
    said = said and "Taken away."
    return _answer(request, "console/watch_shadow.html", {"shadow_form": form, "shadow_said": said})


@require_POST
def abandonment(request: HttpRequest) -> HttpResponse:
    """What leaving does from now on."""
    form = AbandonmentForm(request.POST)
    said = ""
    if form.is_valid():
        mode = form.cleaned_data["abandonment"]
        said = _told(form, lambda appliance: appliance.set_abandonment(mode))
    context = {"abandonment_form": form, "abandonment_said": said}
    return _answer(request, "console/watch_abandonment.html", context)


@require_POST
def load(request: HttpRequest) -> HttpResponse:
    """More or fewer customers from now on."""
    form = LoadForm(request.POST)
    said = ""
    if form.is_valid():
        going = under_way()
        if going is None or going.run is None or going.planned is None:
            form.add_error(None, "No run is under way: nobody arrives.")
        elif going.planned.rho is None:
            form.add_error(None, "This run is a closed loop: it has no arrivals to change.")
        else:
            going.set_load_factor(form.cleaned_data["load_factor"])
            said = "In force."
    context = {"load_form": form, "load_said": said}
    return _answer(request, "console/watch_load.html", context)


def _told(form: Form, change: Callable[[Appliance], object]) -> str:
    """Make a change at the appliance; what went wrong stands in the form."""
    going = under_way()
    if going is not None and going.beside:
        form.add_error(None, "Several shops run at once: each keeps what it is there to show.")
        return ""
    if going is not None and going.run is not None and going.run.peer_file.is_file():
        form.add_error(None, "A peer stands in the gateway's place: it keeps what it began with.")
        return ""
    appliance = Appliance(LAB)
    try:
        change(appliance)
    except ExperimentError as fault:
        form.add_error(None, str(fault))
        return ""
    finally:
        appliance.close()
    return "In force."


def _answer(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    """The form again for a script, the whole page for anybody else."""
    if request.headers.get("HX-Request"):
        return render(request, template, context)
    return _page(request, context)


def _page(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """The page with what is in force in the forms that `context` does not have."""
    appliance = Appliance(LAB)
    try:
        snapshot = appliance.gateway.call("GET", "/snapshot")
        policy, mode = in_force(snapshot["policy"]), snapshot["abandonment"]["mode"]
    except ExperimentError:  # the page says that it is away as soon as the stream begins
        policy, mode = {"policy": "sq"}, "ignore"
    finally:
        appliance.close()
    context = {
        "policy_form": PolicyForm(policy),
        "abandonment_form": AbandonmentForm({"abandonment": mode}),
        "load_form": LoadForm({"load_factor": 1}),
        "shadow_form": _shadow_form(_NO_SHADOW),
        "pages": list(PAGES),
    } | context
    return render(request, "console/watch.html", context)


_NO_SHADOW = {"policy": "door-lifo"}
"""What the form proposes."""


def _shadow_form(given: Mapping[str, Any]) -> PolicyForm:
    return PolicyForm(given, "shadow")


def _chosen(request: HttpRequest) -> dict[str, str]:
    return {name: request.GET.get(name, "") for name in ("policy", "admission")}


def _sent(given: QueryDict) -> dict[str, Any]:
    return {name: given[name] for name in given}
