"""The race page, which plays runs with the same customers side by side, from a common start."""

from itertools import islice

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse

from gateway.policies.interface import PAGES
from lab.console.launches.submission import launched, of_spec
from lab.console.launches.views import OVER
from lab.console.models import Launch, State
from lab.console.race import forms as race_forms
from lab.console.race.forms import BEGINS_WITH, RaceForm
from lab.console.results import logs, result_list
from lab.console.site import permissions
from lab.console.site.allowances import AllowanceError
from lab.console.site.permissions import readers, students
from lab.console.watch.live_run import under_way
from lab.errors import ExperimentError
from lab.wording import title_of

LISTED = 50


@students.get_or_post
def race(request: HttpRequest) -> HttpResponse:
    """Show the runs of a result side by side. Without a result, show a form and the possible
    races."""
    is_new = request.method == "POST"
    if not is_new and request.GET.get("result"):
        return side_by_side(request, request.GET["result"])
    form = RaceForm(request.POST) if is_new else RaceForm(initial=BEGINS_WITH)
    spec = form.spec() if is_new else None
    if spec is not None:
        try:
            launch = of_spec(spec).launch(permissions.allowance_of(request))
        except AllowanceError as fault:
            form.add_error(None, str(fault))
        else:
            is_queued = launched(request, lambda: launch) is not None
            return redirect("race-waiting", launch.pk) if is_queued else redirect("queue")
    going = under_way()
    context = {
        "form": form,
        "live_race": going.launch if going and going.runs and going.runs.beside else None,
        "results": [
            *islice(filter(race_forms.fields_of, result_list.entries()), LISTED),
            *filter(race_forms.fields_of, result_list.references()),
        ],
    }
    return render(request, "console/race.html", context, status=400 if is_new else 200)


def side_by_side(request: HttpRequest, name: str) -> HttpResponse:
    """Show runs of the result `name` that had the same customers at the same load."""
    result = result_list.result_of(name)
    fields = race_forms.fields_of(result)
    field = request.GET.get("field", "")
    if field not in fields:
        field = next(iter(fields), "")
    runs = [(title_of(planned.policy), planned.folder) for planned, _ in fields.get(field, [])]
    wanted = request.GET.getlist("lane")  # the name in addresses of earlier versions
    raced = [(title, folder) for title, folder in runs if folder in wanted]
    fault = ""
    if wanted and not race_forms.FEWEST <= len(raced) <= race_forms.MOST:
        fault = f"Choose {race_forms.FEWEST} to {race_forms.MOST} runs; you chose {len(raced)}."
    if fault or not wanted:
        raced = runs[: race_forms.MOST]
    context = {
        "result": result,
        "fields": list(fields),
        "field": field,
        "runs": runs,
        "raced": raced,
        "chosen": [folder for _, folder in raced],
        "pages": list(PAGES),
        "fault": fault,
    }
    return render(request, "console/race.html", context, status=400 if fault else 200)


@readers.get
def run_frames(request: HttpRequest, name: str, run: str) -> HttpResponse:
    """Return the frames from which the race page draws a run."""
    result = result_list.result_of(name)
    result_list.run_of(result, run)
    try:
        return JsonResponse(logs.ask(result, "frames", run=run))
    except ExperimentError:  # damaged: nothing to show
        raise Http404 from None


@readers.get
def waiting(request: HttpRequest, pk: str) -> HttpResponse:
    """Show the progress of a launched race, and redirect to its runs when it is done."""
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


urlpatterns = [
    path("race/", race, name="race"),
    path("race/lanes/<str:name>/<str:run>.json", run_frames, name="race-frames"),
    path("race/waiting/<str:pk>/", waiting, name="race-waiting"),
]
