"""The page that shows a person's limits, and how much of each limit the person uses."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from lab.console.launches.queue import waiting_of
from lab.console.results import imports
from lab.console.site import allowances, permissions
from lab.console.site.permissions import readers
from lab.console.site.rates import spent
from lab.console.site.settings import LAB


@readers.get
def limits(request: HttpRequest) -> HttpResponse:
    """Show the limits of the person who sends the request."""
    allowance = permissions.allowance_of(request)
    waiting = waiting_of(permissions.name_of(request))
    kept = imports.kept_by(LAB.results_dir, permissions.name_of(request))
    used: dict[str, float] = {
        "kept_imports": len(kept),
        "kept_import_bytes": sum(mark.size_bytes for mark in kept),
        "waiting_launches": len(waiting),
        "waiting_expected_s": sum(one.expected_s for one in waiting),
        **spent(allowance, permissions.key_of(request)),
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
