"""The built pages of the documentation site, and the page shown if the site is not built."""

import posixpath

from django.http import Http404, HttpRequest, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from lab.console.site.permissions import answers, everybody
from lab.console.site.sending import file_of
from lab.report import glossary
from runtime.docs_site import SITE

KEPT_S = 600
"""The real seconds for which a browser can cache the glossary."""


@everybody
@require_safe
def documentation(request: HttpRequest, file: str = "index.html") -> HttpResponseBase:
    """Return a file of the site. Like the static files, the site needs no login."""
    if not (SITE / "index.html").is_file():
        return render(request, "console/documentation_missing.html", status=404)
    # Another spelling, such as /docs//labs/instructor.html, would bypass the teachers' permission.
    # normpath() keeps slashes at the beginning.
    if file.startswith("/") or posixpath.normpath(file) != file:
        raise Http404
    answer = file_of(request, file, SITE)
    answer.headers["Cache-Control"] = "no-cache"  # a new site has the same addresses
    return answer


@everybody
@require_safe
def terms(request: HttpRequest) -> JsonResponse:
    """Return the glossary's entries, and for each term the entry that explains it."""
    found = {
        "entries": [[one.title, one.text, one.formula, one.anchor] for one in glossary.entries()],
        "terms": glossary.keys(of_parameters=False),
        "parameters": glossary.keys(of_parameters=True),
        "in_text": glossary.in_text(),
    }
    return JsonResponse(found, headers={"Cache-Control": f"max-age={KEPT_S}"})


@answers
@require_safe
def for_teachers(request: HttpRequest, file: str) -> HttpResponseBase:
    """Return a file with answers. If the console has accounts, students cannot open the file."""
    return documentation(request, file)


urlpatterns = [
    path("docs/terms.json", terms, name="terms"),
    path("docs/", documentation, name="documentation"),
    path("docs/labs/instructor.html", for_teachers, {"file": "labs/instructor.html"}),
    path("docs/teaching/exam.html", for_teachers, {"file": "teaching/exam.html"}),
    path("docs/<path:file>", documentation, name="documentation-page"),
]
