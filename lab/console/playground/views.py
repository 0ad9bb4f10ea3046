"""The playground: two policies over the same customers, simulated in the visitor's browser."""

import hashlib

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import condition, require_GET

from lab.console.site.permissions import readers
from lab.console.site.security import POLICY
from lab.playground import experiment, pyodide, sources

A_YEAR_S = 31_536_000
LETS_PYTHON_RUN = f"script-src 'self' 'wasm-unsafe-eval'; {POLICY}"
"""The Content-Security-Policy of the page and its worker: they may compile WebAssembly."""


@readers
@require_GET
def playground(request: HttpRequest) -> HttpResponse:
    """Show the page, or how to fetch Pyodide if it is missing."""
    is_there = pyodide.is_there()
    context = {
        "is_there": is_there,
        "choices": experiment.choices(),
        "first_load_mb": pyodide.first_load_bytes() / 1e6 if is_there else 0,
        "addresses": {
            "modules": reverse("playground-modules"),
            "pyodide": reverse("playground-pyodide", args=["pyodide.mjs"]).rpartition("/")[0] + "/",
        },
    }
    response = render(request, "console/playground.html", context)
    response.headers["Content-Security-Policy"] = LETS_PYTHON_RUN
    return response


def _etag(request: HttpRequest) -> str:
    return f'"{hashlib.sha256(sources.archive()).hexdigest()[:16]}"'


@readers
@require_GET
@condition(etag_func=_etag)
def modules(request: HttpRequest) -> HttpResponse:
    """Return the project's modules that the simulation needs, as a ZIP archive."""
    return HttpResponse(sources.archive(), content_type="application/zip")


@readers
@require_GET
@cache_control(max_age=A_YEAR_S, immutable=True, private=True)
def pyodide_file(request: HttpRequest, name: str) -> HttpResponseBase:
    """Return a file of Pyodide, compressed; its address has the version, so it never changes."""
    if name not in pyodide.FILES or not pyodide.is_there():
        raise Http404
    response = HttpResponse(pyodide.compressed(name), content_type=pyodide.FILES[name])
    response.headers["Content-Encoding"] = "gzip"
    response.headers["Content-Security-Policy"] = LETS_PYTHON_RUN
    return response
