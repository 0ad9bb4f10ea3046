"""Runs side by side over the same customers, drawn in step from their samples.

Owns: choosing runs, their frames as JSON. Must not know: how a run was made.
"""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from gateway.policies.interface import PAGES
from lab.console import shelf
from lab.experiments.titles import title_of

MOST_LANES = 4
MOST_FRAMES = 1200


@require_GET
def race(request: HttpRequest) -> HttpResponse:
    """Without a result: which can be raced. With one: two to four of its runs."""
    name = request.GET.get("result", "")
    chosen = shelf.shelved(name) if name else None
    if name and chosen is None:
        raise Http404
    context: dict[str, Any] = {"result": chosen}
    if chosen is None:
        context["results"] = [one for one in shelf.shelf() if one.progress()[0] >= 2][:50]
    else:
        whole = [(planned, run) for planned, run in chosen.runs() if run.is_whole]
        groups: dict[tuple[Any, int], list[Any]] = {}
        for planned, _ in whole:
            groups.setdefault((planned.rho, planned.seed), []).append(planned)
        keys = list(groups)
        wanted = request.GET.get("group", "0")
        index = int(wanted) if wanted.isdigit() and int(wanted) < len(keys) else 0
        lanes = groups[keys[index]][:MOST_LANES] if keys else []
        context |= {
            "groups": list(enumerate(keys)),
            "index": index,
            "lanes": [(title_of(planned.policy), planned.folder) for planned in lanes],
            "pages": list(PAGES),
        }
    return render(request, "console/race.html", context)


@require_GET
def frames(request: HttpRequest, name: str, run: str) -> HttpResponse:
    """The samples of a run, at most MOST_FRAMES of them, times in paper seconds."""
    chosen = shelf.shelved(name)
    found = next(
        (one for planned, one in (chosen.runs() if chosen else []) if planned.folder == run), None
    )
    if found is None or not found.is_whole:
        raise Http404
    samples = found.samples()
    step = max(1, -(-samples.num_rows // MOST_FRAMES))
    columns = samples.take(list(range(0, samples.num_rows, step))).to_pydict()
    wanted = ("time_s", "discipline", "cpu_utilisation_ratio", "in_service", "waiting",
              "answered_total", "arrived_total", "dropped_total", "rejected_total",
              "orphaned_total", "confirms_total")  # fmt: skip
    return JsonResponse(
        {
            **{name: columns[name] for name in wanted},
            "waiting_by_page": [columns[f"waiting_{page}"] for page in PAGES],
        }
    )
