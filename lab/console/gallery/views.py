"""The gallery, which shows every experiment that comes with Doorbuster, and the launch forms. Each
experiment has a launch form, and so has each result with a spec: this form launches the changed
spec."""

from collections.abc import Mapping

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse

from lab.console.gallery import cards
from lab.console.gallery.cards import CARDS, Card
from lab.console.launches.forms import LaunchForm, initial
from lab.console.launches.submission import of_spec, submit
from lab.console.results.result_list import ResultEntry, result_of
from lab.console.site import own_policies, permissions
from lab.console.site.allowances import AllowanceError
from lab.console.site.permissions import readers, students
from lab.console.site.sending import attached
from lab.spec.experiment import Spec

LONG_S = 15 * 60
"""The expected duration, in real seconds, above which the user must confirm a launch."""


@readers.get
def gallery(request: HttpRequest) -> HttpResponse:
    """Show what Doorbuster is, where to begin, and the experiments grouped by question."""
    by_question: dict[str, list[Card]] = {}
    for one in CARDS:
        by_question.setdefault(one.question, []).append(one)
    return render(request, "console/gallery.html", {"questions": by_question})


@students.get_or_post
def launch(request: HttpRequest, name: str) -> HttpResponse:
    """Show the launch form of an experiment, and put a submitted launch into the queue."""
    card = _card(name)
    allowance = permissions.allowance_of(request)
    is_sent, is_sure = request.method == "POST", "sure" in request.POST
    base = card.spec
    if base is None:  # a reproduction has no fields
        if is_sent and (is_sure or card.real_s <= LONG_S):
            return submit(request, lambda: card.experiment.launch(allowance))
        asks_s = card.real_s if is_sent else None
        return render(request, "console/launch.html", {"card": card, "asks_s": asks_s})
    shown = {"card": card, "predict": reverse("predict", args=[name])}
    return _spec_form(request, base, shown)


@students.get_or_post
def change(request: HttpRequest, name: str) -> HttpResponse:
    """Show the launch form of a result's spec, and put a submitted launch into the queue."""
    result, base = _result_with_spec(name)
    offered = {policy for policy, _ in own_policies.choices()}
    wanted = {one.name for one in base.policy if one.gateway is None}
    shown = {
        "result": result,
        "missing": sorted(wanted - offered),
        "predict": reverse("predict-change", args=[name]),
    }
    return _spec_form(request, base, shown)


def _card(name: str) -> Card:
    card = cards.card(name)
    if card is None:
        raise Http404
    return card


def _spec_of_card(name: str) -> Spec:
    spec = _card(name).spec
    if spec is None:
        raise Http404
    return spec


def _result_with_spec(name: str) -> tuple[ResultEntry, Spec]:
    result = result_of(name)
    if result.spec is None:
        raise Http404
    return result, result.spec


def _spec_form(request: HttpRequest, base: Spec, shown: Mapping[str, object]) -> HttpResponse:
    """Show the launch form of a spec, or launch the submitted experiment. If the expected duration
    is above LONG_S, the page first asks for a confirmation."""
    allowance = permissions.allowance_of(request)
    form = LaunchForm(request.POST or None, initial=initial(base))
    spec = form.spec(base, allowance) if request.method == "POST" else None
    asks_s = None
    if spec is not None:
        if "download" in request.POST:
            return toml_file(spec)
        try:
            wanted = of_spec(spec).launch(allowance)
        except AllowanceError as fault:
            form.add_error(None, str(fault))
        else:
            if "sure" in request.POST or wanted.expected_s <= LONG_S:
                return submit(request, lambda: wanted)
            asks_s = wanted.expected_s
    context = {
        **shown,
        "form": form,
        "expected_s": asks_s or of_spec(base).real_s,
        "asks_s": asks_s,
    }
    return render(request, "console/launch.html", context, status=400 if form.errors else 200)


@students.post
def predict(request: HttpRequest, name: str) -> HttpResponse:
    """Show the expected duration of the launch that the form describes."""
    return _prediction(request, _spec_of_card(name))


@students.post
def predict_change(request: HttpRequest, name: str) -> HttpResponse:
    """Show the expected duration of the launch that the form of a result's spec describes."""
    return _prediction(request, _result_with_spec(name)[1])


def _prediction(request: HttpRequest, base: Spec) -> HttpResponse:
    allowance = permissions.allowance_of(request)
    context: dict[str, object] = {"expected_s": None}
    try:
        permissions.spend(request, "predictions_per_minute")
        spec = LaunchForm(request.POST).spec(base, allowance)
        if spec is not None:
            context["expected_s"] = of_spec(spec).allowed_real_s(allowance)
    except AllowanceError as fault:
        context["refusal"] = str(fault)
    return render(request, "console/prediction.html", context)


@readers.get
def spec_file(request: HttpRequest, name: str) -> HttpResponse:
    """Return the spec as a file, which the user can edit and upload."""
    return toml_file(_spec_of_card(name))


def toml_file(spec: Spec) -> HttpResponse:
    """Return a spec as a download. The file name comes from the spec's title."""
    words = "".join(c if c.isalnum() else "-" for c in spec.title.lower()).strip("-")[:60]
    return attached(spec.to_toml(), "application/toml; charset=utf-8", f"{words or 'spec'}.toml")


urlpatterns = [
    path("", gallery, name="gallery"),
    path("launch/<str:name>/", launch, name="launch"),
    path("launch/<str:name>/predict", predict, name="predict"),
    path("launch/changed/<str:name>/", change, name="change"),
    path("launch/changed/<str:name>/predict", predict_change, name="predict-change"),
    path("launch/<str:name>/spec.toml", spec_file, name="spec-file"),
]
