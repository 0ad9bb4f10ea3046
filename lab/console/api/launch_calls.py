"""The API calls about experiments, launches, and submissions to the scoreboard."""

from typing import Any

from django.http import Http404, HttpRequest
from ninja import Query
from ninja.responses import Status

from common.http_api import CallError
from lab.console.api import schemas
from lab.console.api.api import call
from lab.console.gallery import cards
from lab.console.launches import queue
from lab.console.launches.forms import LaunchForm, from_values, initial
from lab.console.launches.submission import enqueued, of_spec, sent_spec
from lab.console.launches.views import launch_details, queue_lists
from lab.console.models import Launch, State
from lab.console.scoreboard import submissions
from lab.console.site import permissions
from lab.console.site.allowances import require
from lab.console.site.permissions import launch_owners, readers, students
from lab.spec.experiment import Spec


@call("GET", "experiments", readers, schemas.Experiments)
def experiments(request: HttpRequest) -> dict[str, Any]:
    """List the experiments that come with Doorbuster."""
    return {
        "experiments": [
            {
                "name": one.name,
                "title": one.title,
                "question": one.question,
                "engine": one.engine,
                "takes_options": one.spec is not None,
                "expected_s": one.real_s,
            }
            for one in cards.CARDS
        ]
    }


@call("GET", "launches", students, schemas.Launches, 400)
def launches(request: HttpRequest, query: Query[schemas.LaunchesQuery]) -> dict[str, Any]:
    """List the running launches, the waiting launches and the latest ended launches."""
    lists = queue_lists(query.by)
    return {
        "running": [_launch(one, left_s=left_s) for one, _, left_s in lists["running"]],
        "waiting": [
            _launch(one, position=number, starts_in_s=starts_in_s)
            for number, one, starts_in_s, _ in lists["queued"]
        ],
        "ended": [_launch(one) for one, _ in lists["ended"]],
    }


@call("POST", "launches", students, schemas.Launch, 409, 413, status=201)
def launch(request: HttpRequest, wanted: schemas.NewLaunch) -> Status[dict[str, Any]]:
    """Launch an experiment; a body with the media type application/toml is a spec."""
    made = _wanted(request, wanted)
    enqueued(request, made)
    return Status(201, _shown(request, made))


@call("POST", "scoreboard/policies", students, schemas.Launch, 409, 413, status=201)
def submit_policy(request: HttpRequest, wanted: schemas.NewPolicy) -> Status[dict[str, Any]]:
    """Submit a policy to the scoreboard; the call creates a launch that checks and simulates the
    policy."""
    return Status(201, _shown(request, submissions.submit(request, wanted.name, wanted.text)))


@call("GET", "launches/{id}", launch_owners, schemas.Launch, 404)
def one(request: HttpRequest, id: schemas.LaunchId) -> dict[str, Any]:
    """Show one launch."""
    return _shown(request, _found(id))


@call("POST", "launches/{id}/cancel", launch_owners, schemas.Launch, 404)
def cancel(request: HttpRequest, id: schemas.LaunchId) -> dict[str, Any]:
    """Cancel a waiting or running launch."""
    queue.cancel(_found(id))
    return _shown(request, _found(id))


def _found(id: str) -> Launch:
    found: Launch | None = Launch.objects.filter(pk=id).first()
    if found is None:
        raise Http404(f"There is no launch {id!r:.80}.")
    return found


def _wanted(request: HttpRequest, wanted: schemas.NewLaunch) -> Launch:
    allowance = permissions.allowance_of(request)
    given = [name for name in ("name", "spec", "toml") if getattr(wanted, name) is not None]
    if len(given) != 1:
        raise CallError(
            "body: must have exactly one of the fields name, spec and toml",
            "body",
            "exactly one of name, spec and toml",
        )
    if wanted.options is not None and wanted.name is None:
        raise CallError(
            "options: need the field “name”", "options", "only in a body that has the field “name”"
        )
    if wanted.toml is not None:
        return of_spec(sent_spec(request, "", wanted.toml.encode())).launch(allowance)
    if wanted.spec is not None:
        permissions.spend(request, "uploads_per_minute")
        require(allowance, "spec_bytes", len(request.body))
        return of_spec(from_values(wanted.spec, "", allowance)).launch(allowance)
    assert wanted.name is not None
    card = cards.card(wanted.name)
    if card is None:
        names = ", ".join(one.name for one in cards.CARDS)
        raise CallError(f"name: there is no experiment {wanted.name!r:.80}", "name", names)
    if wanted.options is None:
        return card.experiment.launch(allowance)
    if card.spec is None:
        raise CallError(
            "options: this experiment cannot have options", "options", "no field “options”"
        )
    return of_spec(_changed(request, card.spec, wanted.options)).launch(allowance)


def _changed(request: HttpRequest, base: Spec, options: schemas.Options) -> Spec:
    """Return the spec with the options. Raises CallError if an option is invalid."""
    given = options.model_dump(exclude_unset=True)
    if "duration_s" in given:
        given.setdefault("sessions", None)
    if "rho" in given:
        given["rho"] = ", ".join(map(str, given["rho"]))
    if "at_once" in given:
        given["at_once"] = "yes" if given["at_once"] else ""
    form = LaunchForm(initial(base) | given)
    spec = form.spec(base, permissions.allowance_of(request))
    if spec is not None:
        return spec
    field, messages = next(iter(form.errors.items()))
    name = f"options.{field}" if field in form.fields else "options"
    raise CallError(f"{name}: {messages[0]}", name, _allowed(form, field))


def _allowed(form: LaunchForm, name: str) -> str:
    field = form.fields.get(name)
    if field is None:
        return "options that make a valid spec"
    if choices := getattr(field, "choices", None):
        return ", ".join(str(value) for value, _ in choices if value)
    low, high = getattr(field, "min_value", None), getattr(field, "max_value", None)
    if low is not None and high is not None:
        return f"a number from {low:,} to {high:,}"
    return str(field.help_text) or "text"


def _shown(request: HttpRequest, launch: Launch) -> dict[str, Any]:
    more = launch_details(request, launch)
    left_s = more["left_s"] if launch.state == State.RUNNING else None
    return _launch(
        launch, left_s=left_s, position=more["position"], starts_in_s=more["starts_in_s"]
    )


def _launch(
    launch: Launch,
    *,
    left_s: float | None = None,
    position: int | None = None,
    starts_in_s: float | None = None,
) -> dict[str, Any]:
    same = ("title", "engine", "state", "by", "asked_at", "began_at", "ended_at", "expected_s")
    return {
        "id": launch.pk,
        **{name: getattr(launch, name) for name in same},
        "left_s": left_s,
        "position": position,
        "starts_in_s": starts_in_s,
        "done_ratio": launch.done_ratio,
        "progress": launch.words,
        "result": launch.result,
        "reason": launch.reason,
    }
