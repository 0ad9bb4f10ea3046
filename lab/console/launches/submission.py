"""Functions that create a launch from a spec or a command, check it against the person's limits,
and put it into the queue."""

from collections.abc import Callable
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from lab.console.launches import queue, workers
from lab.console.launches.forms import uploaded
from lab.console.launches.queue import QueueError
from lab.console.models import Launch
from lab.console.site import own_policies, permissions
from lab.console.site.allowances import Allowance, AllowanceError, require
from lab.console.site.settings import LAB
from lab.machine import speeds
from lab.runner import estimates
from lab.spec.experiment import Spec

PROCESSORS = len(LAB.other_cpus)
"""The number of processors that a simulated launch can use."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """The content of a launch: a spec, or a command without a spec."""

    title: str
    spec: Spec | None = None
    arguments: tuple[str, ...] = ()
    """The arguments of the command `doorbuster`, which are used only if there is no spec."""

    @property
    def engine(self) -> str:
        """The engine, `live` or `simulated`."""
        return self.spec.engine if self.spec else estimates.engine_of_command(self.arguments)

    @property
    def real_s(self) -> float | None:
        """The approximate real seconds on this machine; None if a command's duration is unknown."""
        if self.spec:
            return estimates.of_launch(self.spec, LAB, processes=PROCESSORS).real_s
        found = estimates.of_command(self.arguments, speeds.load(LAB), processes=PROCESSORS)
        return None if found is None else found.real_s

    def launch(self, allowance: Allowance) -> Launch:
        """Return a launch that is not yet queued. Raises AllowanceError if a limit is exceeded."""
        return Launch(
            title=self.title,
            engine=self.engine,
            spec=self.spec.to_toml() if self.spec else "",
            arguments=[] if self.spec else list(self.arguments),
            expected_s=self.allowed_real_s(allowance),
        )

    def allowed_real_s(self, allowance: Allowance) -> float:
        """Return `real_s`, which must be known. Raises AllowanceError if this launch would exceed a
        limit."""
        if self.spec:
            require(allowance, "runs_per_launch", self.spec.number_of_runs)
            own_policies.require_few(allowance, (choice.name for choice in self.spec.policy))
        expected_s = self.real_s
        assert expected_s is not None, self.arguments
        require(allowance, "expected_s_per_launch", expected_s)
        return expected_s


def of_spec(spec: Spec) -> Experiment:
    """Return the experiment of this spec."""
    return Experiment(spec.title, spec)


def sent_spec(request: HttpRequest, name: str, content: bytes) -> Spec:
    """Return the spec that a person sent as a TOML file or text. Raises SpecError if the spec is
    invalid or a limit is exceeded."""
    permissions.spend(request, "uploads_per_minute")
    return uploaded(name, content, permissions.allowance_of(request))


def submit(request: HttpRequest, make: Callable[[], Launch]) -> HttpResponse:
    """Put the launch that `make` returns into the queue, and redirect to its page.

    If it cannot be queued now, redirect to the page of the queue and show the reason there.
    """
    launch = launched(request, make)
    return redirect("queue") if launch is None else redirect("launch-page", launch.pk)


def launched(request: HttpRequest, make: Callable[[], Launch]) -> Launch | None:
    """Put the launch that `make` returns into the queue. Return None if it cannot be queued now;
    the next page shows why."""
    try:
        launch = make()
        has_woken = enqueued(request, launch)
    except (QueueError, AllowanceError) as fault:
        messages.error(request, str(fault))
        return None
    if not has_woken:
        messages.warning(
            request, "Redis does not answer. The launch cannot begin until Redis answers."
        )
    return launch


def enqueued(request: HttpRequest, launch: Launch) -> bool:
    """Put a launch of this person into the queue, and return whether the workers could be notified.
    Raises QueueError or AllowanceError if the queue is full or the person is not allowed to launch
    it now.
    """
    if refusal := permissions.refusal(request, launch):
        raise QueueError.of([refusal])
    permissions.spend(request, "launches_per_minute")
    launch.by = permissions.name_of(request)
    queue.enqueue(launch, permissions.allowance_of(request))
    try:
        workers.tell()
    except Exception:  # the launch is kept: the console sends another message every two seconds
        return False
    return True
