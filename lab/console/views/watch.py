"""The live shop: queues, load, sessions; and changing the policy meanwhile.

Owns: the page and the switch. Must not know: how the gateway is looked at (`watching`).
"""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from gateway.policies.interface import PAGES
from gateway.policies.registry import ADMISSIONS, NO_ADMISSION, POLICIES, sheet
from lab.console.settings import LAB
from lab.experiments.appliance import Appliance
from lab.experiments.errors import ExperimentError


@require_GET
def watch(request: HttpRequest) -> HttpResponse:
    """The page; its pictures move by the stream."""
    return render(
        request,
        "console/watch.html",
        {
            "pages": list(PAGES),
            "policies": list(POLICIES),
            "admissions": list(ADMISSIONS),
            "thresholds": {
                name: {
                    parameter.name: parameter.default
                    for parameter in sheet(name).parameters
                    if "threshold" in parameter.name
                }
                for name in POLICIES
            },
        },
    )


@require_POST
def switch(request: HttpRequest) -> HttpResponse:
    """Another policy from now on; nobody who waits is lost."""
    name = request.POST.get("policy", "")
    admission = request.POST.get("admission", NO_ADMISSION)
    if name not in POLICIES or admission not in ADMISSIONS:
        allowed = f"{', '.join(POLICIES)}; {', '.join(ADMISSIONS)}"
        messages.error(request, f"policy: {name} behind {admission}; allowed: {allowed}")
        return redirect("watch")
    try:
        Appliance(LAB).gateway.call(
            "PUT", "/policy", {"name": name, "parameters": {}, "admission": {"name": admission}}
        )
    except ExperimentError as fault:
        messages.error(request, str(fault))
    if request.headers.get("HX-Request"):
        return HttpResponse(status=204)
    return redirect("watch")
