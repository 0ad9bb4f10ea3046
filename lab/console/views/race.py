"""Runs side by side over the same customers, drawn in step.

Owns: the pages: choosing, racing, launching a new race and waiting for it. Must not know: how a
run was made, what is in a lane (`racing`).
"""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from gateway.policies.interface import PAGES
from lab.console import racing, shelf
from lab.console.gallery import launch_of_spec
from lab.console.models import Launch, State
from lab.console.racing import BEGINS_WITH, RaceForm
from lab.console.under_way import under_way
from lab.console.views.gallery import ask
from lab.console.views.launches import OVER
from lab.experiments.errors import ExperimentError
from lab.experiments.titles import title_of

LISTED = 50


@require_http_methods(["GET", "POST"])
def race(request: HttpRequest) -> HttpResponse:
    """Without a result: which can be raced, and a form for a new one. With one: its lanes."""
    if request.method == "POST":
        return _begin(request)
    name = request.GET.get("result", "")
    if not name:
        return _choose(request, RaceForm(initial=BEGINS_WITH))
    chosen = shelf.shelved(name)
    if chosen is None:
        raise Http404
    fields = racing.fields_of(chosen)
    field = request.GET.get("field", "")
    if field not in fields:
        field = next(iter(fields), "")
    runs = fields.get(field, [])
    wanted = request.GET.getlist("lane")
    lanes = [one for one in runs if one[0].folder in wanted] if wanted else runs[: racing.MOST]
    fault = ""
    if wanted and not racing.FEWEST <= len(lanes) <= racing.MOST:
        fault = f"lanes: {len(lanes)} chosen; choose {racing.FEWEST} to {racing.MOST}"
        lanes = runs[: racing.MOST]
    context = {
        "result": chosen,
        "fields": list(fields),
        "field": field,
        "runs": [(title_of(planned.policy), planned.folder) for planned, _ in runs],
        "lanes": [(title_of(planned.policy), planned.folder) for planned, _ in lanes],
        "chosen": [planned.folder for planned, _ in lanes],
        "pages": list(PAGES),
        "fault": fault,
    }
    return render(request, "console/race.html", context, status=400 if fault else 200)


@require_GET
def lane(request: HttpRequest, name: str, run: str) -> HttpResponse:
    """The frames of one run."""
    chosen = shelf.shelved(name)
    runs = chosen.runs() if chosen else []
    found = next((folder for planned, folder in runs if planned.folder == run), None)
    if chosen is None or found is None or not found.is_whole:
        raise Http404
    try:
        return JsonResponse(racing.lane(chosen, found))
    except (ExperimentError, OSError, ValueError, KeyError):  # damaged: there is nothing to show
        raise Http404 from None


@require_GET
def waiting(request: HttpRequest, pk: str) -> HttpResponse:
    """A race that is being made; it leads to its lanes when it is. Asked for every second until
    it has ended."""
    launch = get_object_or_404(Launch, pk=pk)
    if launch.state == State.DONE and launch.result:
        target = f"{reverse('race')}?result={launch.result}"
        if not request.headers.get("HX-Request"):
            return redirect(target)
        return HttpResponse(headers={"HX-Redirect": target})
    context = {"launch": launch, "pages": list(PAGES)}
    if not request.headers.get("HX-Request"):
        return render(request, "console/race_waiting.html", context)
    status = OVER if launch.has_ended else 200
    return render(request, "console/race_waiting_state.html", context, status=status)


def _begin(request: HttpRequest) -> HttpResponse:
    form = RaceForm(request.POST)
    spec = form.spec()
    if spec is None:
        return _choose(request, form, status=400)
    launch = launch_of_spec(spec)
    answer = ask(request, launch)
    taken_on = Launch.objects.filter(pk=launch.pk).exists()
    return redirect("race-waiting", launch.pk) if taken_on else answer


def _choose(request: HttpRequest, form: RaceForm, status: int = 200) -> HttpResponse:
    going = under_way()
    context: dict[str, Any] = {
        "form": form,
        "live_race": going.launch if going and going.beside else None,
        "results": [one for one in shelf.shelf() if racing.fields_of(one)][:LISTED],
    }
    return render(request, "console/race.html", context, status=status)
