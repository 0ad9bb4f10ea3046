"""The playground: a simulation and a policy editor, which both run in the visitor's browser."""

import hashlib
from collections.abc import Callable
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import condition

from gateway.students.files import MOST_BYTES
from lab.console.site.permissions import readers
from lab.console.site.security import POLICY
from lab.playground import experiment, pyodide, sources
from lab.students import in_browser, policy_page, template

A_YEAR_S = 31_536_000
LETS_PYTHON_RUN = f"script-src 'self' 'wasm-unsafe-eval'; {POLICY}"
"""The Content-Security-Policy that permits a page and its worker to compile WebAssembly."""


@readers.get
def playground(request: HttpRequest) -> HttpResponse:
    """Show the playground. If Pyodide is missing, explain how to fetch it."""
    context = {
        **_python(reverse("playground-modules")),
        "choices": experiment.choices(),
    }
    return _page(request, "console/playground.html", context)


_RUN_SLIDERS = ("rho", "sessions", "seed")
MOST_SILENCE_S = 30
"""The time without a message from the policy, in real seconds, after which the page ends the
policy's worker."""


@readers.get
def policy(request: HttpRequest) -> HttpResponse:
    """Show the editor for policies, next to the reference of events and verdicts."""
    module = {"module": in_browser.__name__}
    context = {
        **_python(reverse("playground-policy-modules"), **module),
        "submit": {"address": "/api/scoreboard/policies", "most_bytes": MOST_BYTES},
        "sliders": [one for one in experiment.SLIDERS if one.name in _RUN_SLIDERS],
        "seeds": in_browser.SEEDS,
        "kinds": _api(),
        "template": template.policy_text("my-policy"),
        "most_silence_s": MOST_SILENCE_S,
    }
    return _page(request, "console/policy.html", context)


def _api() -> dict[str, list[dict[str, Any]]]:
    """Return the entries of docs/policy-api.md by kind. The meaning of an entry is a list of
    paragraphs, in which text and code alternate."""
    kinds: dict[str, list[dict[str, Any]]] = {}
    for entry in policy_page.entries():
        paragraphs = [" ".join(one.split()) for one in entry.meaning.split("\n\n")]
        meaning = [one.split("`") for one in paragraphs]
        kinds.setdefault(entry.kind, []).append({**entry._asdict(), "meaning": meaning})
    return kinds


def _python(modules: str, **more: str) -> dict[str, Any]:
    """Return the context of a page that runs Python: whether Pyodide is installed, its size, and
    the addresses of Pyodide and of the modules."""
    is_there = pyodide.is_there()
    folder = reverse("playground-pyodide", args=["pyodide.mjs"]).rpartition("/")[0] + "/"
    return {
        "is_there": is_there,
        "first_load_mb": pyodide.first_load_bytes() / 1e6 if is_there else 0,
        "addresses": {"modules": modules, "pyodide": folder, **more},
    }


def _page(request: HttpRequest, name: str, context: dict[str, Any]) -> HttpResponse:
    response = render(request, name, context)
    response.headers["Content-Security-Policy"] = LETS_PYTHON_RUN
    return response


def _tag(*beginning: str) -> Callable[[HttpRequest], str]:
    """Return a function that returns the ETag of the archive `sources.archive(*beginning)`."""
    return lambda _: f'"{hashlib.sha256(sources.archive(*beginning)).hexdigest()[:16]}"'


@readers.get
@condition(etag_func=_tag())
def modules(request: HttpRequest) -> HttpResponse:
    """Return the project's modules that the simulation needs, as a ZIP archive."""
    return HttpResponse(sources.archive(), content_type="application/zip")


@readers.get
@condition(etag_func=_tag(in_browser.__name__))
def policy_modules(request: HttpRequest) -> HttpResponse:
    """Return the modules that check and compare a policy, as a ZIP archive."""
    return HttpResponse(sources.archive(in_browser.__name__), content_type="application/zip")


@readers.get
@cache_control(max_age=A_YEAR_S, immutable=True, private=True)
def pyodide_file(request: HttpRequest, name: str) -> HttpResponseBase:
    """Return a compressed file of Pyodide. Its address has the version, so browsers can keep it."""
    if name not in pyodide.FILES or not pyodide.is_there():
        raise Http404
    response = HttpResponse(pyodide.compressed(name), content_type=pyodide.FILES[name])
    response.headers["Content-Encoding"] = "gzip"
    response.headers["Content-Security-Policy"] = LETS_PYTHON_RUN
    return response


urlpatterns = [
    path("playground/", playground, name="playground"),
    path("playground/policy/", policy, name="playground-policy"),
    path("playground/policy/modules.zip", policy_modules, name="playground-policy-modules"),
    path("playground/modules.zip", modules, name="playground-modules"),
    path(
        f"playground/pyodide-{pyodide.VERSION}/<str:name>",
        pyodide_file,
        name="playground-pyodide",
    ),
]
