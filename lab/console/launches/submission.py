"""Functions that create a launch from a spec or a command, check it against the person's limits,
and put it into the queue."""

from collections.abc import Callable, Sequence

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from lab.console.launches import queue, workers
from lab.console.launches.forms import uploaded
from lab.console.launches.queue import QueueError
from lab.console.models import Launch
from lab.console.site import permissions
from lab.console.site.allowances import Allowance, AllowanceError, require
from lab.console.site.rates import spend
from lab.console.site.settings import LAB
from lab.machine import speeds
from lab.runner import estimates
from lab.spec.experiment import Spec

PROCESSORS = len(LAB.other_cpus)
"""The number of processors that a simulated launch can use. The shop's processors stay free for
live runs."""


def expected_real_s(spec: Spec) -> float:
    """Return the approximate duration of a launch of this spec on this machine, in real seconds."""
    return estimates.of_launch(spec, LAB, processes=PROCESSORS).real_s


def launch_of_spec(spec: Spec, allowance: Allowance) -> Launch:
    """Return a launch of this spec without adding it to the queue. Raises AllowanceError if the
    spec exceeds a limit."""
    return Launch(
        title=spec.title,
        engine=spec.engine,
        spec=spec.to_toml(),
        expected_s=allowed_real_s(spec, allowance),
    )


def sent_spec(request: HttpRequest, name: str, content: bytes) -> Spec:
    """Return the spec that a person sent as a TOML file or text. Raises SpecError if the spec is
    invalid or a limit is exceeded."""
    allowance = permissions.allowance_of(request)
    spend(allowance, "uploads_per_minute", permissions.key_of(request))
    return uploaded(name, content, allowance)


def command_real_s(arguments: Sequence[str]) -> float | None:
    """Return the approximate real seconds that a `doorbuster` command takes; None if unknown."""
    found = estimates.of_command(arguments, speeds.load(LAB), processes=PROCESSORS)
    return None if found is None else found.real_s


def launch_of_command(title: str, arguments: Sequence[str], allowance: Allowance) -> Launch:
    """Return a launch of a command whose duration is known. Raises AllowanceError if the launch
    takes too long."""
    expected_s = command_real_s(arguments)
    assert expected_s is not None, arguments
    require(allowance, "expected_s_per_launch", expected_s)
    return Launch(
        title=title,
        engine=estimates.engine_of_command(arguments),
        arguments=list(arguments),
        expected_s=expected_s,
    )


def allowed_real_s(spec: Spec, allowance: Allowance) -> float:
    """Return the approximate duration of a launch of this spec, in real seconds. Raises
    AllowanceError if the spec exceeds a limit."""
    require(allowance, "runs_per_launch", spec.number_of_runs)
    expected_s = expected_real_s(spec)
    require(allowance, "expected_s_per_launch", expected_s)
    return expected_s


def submit(request: HttpRequest, make: Callable[[], Launch]) -> HttpResponse:
    """Put the launch that `make` returns into the queue, and redirect to its page.

    If it cannot be queued now, redirect to the page of the queue and show the reason there.
    """
    try:
        launch = make()
        has_woken = enqueued(request, launch)
    except (QueueError, AllowanceError) as fault:
        messages.error(request, str(fault))
        return redirect("queue")
    if not has_woken:
        messages.warning(
            request, "Redis does not answer. The launch cannot begin until Redis answers."
        )
    return redirect("launch-page", launch.pk)


def enqueued(request: HttpRequest, launch: Launch) -> bool:
    """Put a launch of this person into the queue, and return whether the workers could be notified.
    Raises QueueError or AllowanceError if the queue is full or the person is not allowed to launch
    it now.
    """
    allowance = permissions.allowance_of(request)
    if refusal := permissions.refusal(request, launch):
        raise QueueError(refusal)
    spend(allowance, "launches_per_minute", permissions.key_of(request))
    launch.by = permissions.name_of(request)
    queue.enqueue(launch, allowance)
    try:
        workers.tell()
    except Exception:  # the launch is kept: the console sends another message every two seconds
        return False
    return True
