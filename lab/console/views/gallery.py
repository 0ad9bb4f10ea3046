"""Gallery and launch: choose an experiment, change it, ask for it.

Owns: these pages. Must not know: how a launch is carried out.
"""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from lab.console import gallery as exhibits
from lab.console import people, queueing, working
from lab.console.launch_form import MOST_SPEC_BYTES, LaunchForm, initial, uploaded
from lab.console.limits import LAUNCHES
from lab.console.models import Launch
from lab.console.queueing import QueueError
from lab.experiments.errors import SpecError
from lab.experiments.spec import Spec


@require_GET
def health(request: HttpRequest) -> HttpResponse:
    """For whoever started this server."""
    return JsonResponse({"status": "ok"})


@require_GET
def gallery(request: HttpRequest) -> HttpResponse:
    """Every experiment that comes along, by paper."""
    by_paper: dict[str, list[exhibits.Exhibit]] = {}
    for one in exhibits.EXHIBITS:
        by_paper.setdefault(one.paper, []).append(one)
    return render(request, "console/gallery.html", {"papers": by_paper})


@require_http_methods(["GET", "POST"])
def launch(request: HttpRequest, name: str) -> HttpResponse:
    """The form of an experiment; sent, it joins the queue."""
    exhibit = exhibits.exhibit(name)
    if exhibit is None:
        raise Http404
    base = exhibit.spec
    if base is None:  # a reproduction has nothing to set
        if request.method == "POST":
            return ask(request, exhibits.launch_of(exhibit))
        return render(request, "console/launch.html", {"exhibit": exhibit})
    form = LaunchForm(request.POST or None, initial=initial(base))
    if request.method == "POST":
        spec = form.spec(base)
        if spec is not None:
            if "download" in request.POST:
                return _toml(spec)
            return ask(request, exhibits.launch_of_spec(spec))
    return render(
        request,
        "console/launch.html",
        {"exhibit": exhibit, "form": form, "expected_s": exhibit.real_s},
        status=400 if form.errors else 200,
    )


@require_POST
def predict(request: HttpRequest, name: str) -> HttpResponse:
    """How long what the form says will take; asked whenever a field changes."""
    exhibit = exhibits.exhibit(name)
    base = exhibit.spec if exhibit else None
    if base is None:
        raise Http404
    spec = LaunchForm(request.POST).spec(base)
    seconds = None if spec is None else exhibits.expected_real_s(spec)
    return render(request, "console/prediction.html", {"expected_s": seconds})


@require_GET
def spec_file(request: HttpRequest, name: str) -> HttpResponse:
    """The spec as a file, to be edited and sent back."""
    exhibit = exhibits.exhibit(name)
    spec = exhibit.spec if exhibit else None
    if spec is None:
        raise Http404
    return _toml(spec)


@require_POST
def upload(request: HttpRequest) -> HttpResponse:
    """A spec in a file of the user's own."""
    sent = request.FILES.get("spec")
    if sent is None:
        messages.error(request, "Choose a spec file (TOML) first.")
        return redirect("gallery")
    try:
        spec = uploaded(sent.name or "file", sent.read(MOST_SPEC_BYTES + 1))
    except SpecError as fault:
        messages.error(request, str(fault))
        return redirect("gallery")
    return ask(request, exhibits.launch_of_spec(spec))


def ask(request: HttpRequest, wanted: Launch) -> HttpResponse:
    """Join the queue, or say why not."""
    wait_s = LAUNCHES.wait_s(people.key_of(request))
    refusal = people.refusal(request, wanted)
    if wait_s:
        refusal = (
            f"{LAUNCHES.most} launches a minute are enough; you may launch again in {wait_s} s"
        )
    if refusal:
        messages.error(request, refusal)
        return redirect("queue")
    LAUNCHES.note(people.key_of(request))
    wanted.by = people.name_of(request)
    try:
        queueing.enqueue(wanted)
    except QueueError as fault:
        messages.error(request, str(fault))
        return redirect("queue")
    try:
        working.tell()
    except Exception:  # kept: the keeper tells again
        messages.warning(request, "Redis does not answer; the launch begins when it does.")
    return redirect("launch-page", wanted.pk)


def _toml(spec: Spec) -> HttpResponse:
    words = "".join(c if c.isalnum() else "-" for c in spec.title.lower()).strip("-")[:60]
    response = HttpResponse(spec.to_toml(), content_type="application/toml; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{words or "spec"}.toml"'
    return response
