"""A race: two to four runs over the same customers, in step, from their logs.

Owns: which runs can be raced together, a lane's frames, the form that makes a new one.
Must not know: pages, how a run was made.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django import forms

from gateway.policies.interface import PAGES
from gateway.students.files import stem
from lab.console import own_policies
from lab.console.settings import LAB
from lab.console.shelf import Shelved
from lab.experiments import lane_cpus
from lab.experiments.errors import ExperimentError, SpecError
from lab.experiments.event_words import event_words, load_words
from lab.experiments.experiment_options import with_options
from lab.experiments.results import PlannedRun, RunFolder
from lab.experiments.spec import Spec, changed, load_spec
from lab.experiments.titles import title_of

FEWEST, MOST = 2, 4
MOST_FRAMES = 1200
_COLUMNS = ("policy", "discipline", "cpu_utilisation_ratio", "in_service", "waiting")
_TOTALS = ("arrived_total", "answered_total", "dropped_total", "rejected_total", "orphaned_total",
           "confirms_total")  # fmt: skip

Run = tuple[PlannedRun, RunFolder]


def fields_of(result: Shelved) -> dict[str, list[Run]]:
    """Whole runs that had the same customers at the same load, by what they had, for people.

    The heaviest load stands first: there policies differ. The lanes are in the order of the spec:
    the runs were made in a random one. Empty when the plan is damaged.
    """
    spec = result.spec
    order = [choice.key for choice in spec.policy] if spec else []
    found: dict[str, list[Run]] = {}
    for planned, run in sorted(result.runs(), key=lambda one: _place(order, one[0].policy)):
        if run.is_whole and run.samples_file.is_file():
            load = load_words(planned.rho)
            found.setdefault(f"{load}, seed {planned.seed}", []).append((planned, run))
    return {
        name: lanes
        for name, lanes in sorted(found.items(), key=lambda one: _weight(one[1][0][0]))
        if len(lanes) >= FEWEST
    }


def _weight(planned: PlannedRun) -> tuple[float, int]:
    return -(planned.rho or 0.0), planned.seed


def _place(order: Sequence[str], policy: str) -> int:
    return order.index(policy) if policy in order else len(order)


def lane(result: Shelved, run: RunFolder) -> dict[str, Any]:
    """At most about MOST_FRAMES samples of a run as columns; paper seconds since customers came.

    Totals count from the run's start. `marks` are what was changed meanwhile. Raises
    ExperimentError when the run is damaged.
    """
    samples = run.samples()
    rows = samples.num_rows
    if not rows:
        raise ExperimentError(f"{run.samples_file} has no samples")
    step = max(1, -(-rows // MOST_FRAMES))
    kept = [*range(0, rows - 1, step), rows - 1]  # the end counts: it is the result
    columns = samples.take(kept).to_pydict()
    first = samples.slice(0, 1).to_pydict()
    events = result.events(run)
    began_s = _customers_came_s(result, run, events)
    marks = []
    for event in events:
        if event["event"] == "switched":
            at_s = event["time_s"] - began_s
            marks.append({"x": at_s, "text": event_words(event), "kind": "policy"})
        elif event["event"] == "load changed":
            marks.append({"x": event["time_s"], "text": event_words(event), "kind": "load"})
    return {
        "time_s": [time_s - began_s for time_s in columns["time_s"]],
        **{name: columns[name] for name in _COLUMNS},
        **{name: [value - first[name][0] for value in columns[name]] for name in _TOTALS},
        "waiting_by_page": [columns[f"waiting_{page}"] for page in PAGES],
        "marks": marks,
    }


def _customers_came_s(
    result: Shelved, run: RunFolder, events: Sequence[Mapping[str, Any]]
) -> float:
    """When, on the clock of the samples, the load generator's clock began; a simulation's is 0.

    Lanes are in step by their customers: one load generator may take longer to start.
    """
    spec = result.spec
    if spec is None or spec.engine != "live":
        return 0.0
    started = next((event["at"] for event in events if event["event"] == "run started"), None)
    came_at = run.summary().get("load_generator", {}).get("started_at")
    if started is None or came_at is None:
        return 0.0
    return max(0.0, (came_at - datetime.fromisoformat(started).timestamp()) * spec.time_scale)


class RaceForm(forms.Form):
    """A new race: simulated, or live where this machine has processors for several shops."""

    engine = forms.ChoiceField(
        choices=[
            ("simulated", "simulated: a matter of seconds"),
            ("live", "live: real customers at real shops, all at the same time"),
        ],
        initial="simulated",
        required=False,
        widget=forms.RadioSelect,
        label="How",
    )
    policies = forms.MultipleChoiceField(
        choices=own_policies.choices,
        widget=forms.CheckboxSelectMultiple,
        label=f"{FEWEST} to {MOST} policies",
    )
    rho = forms.FloatField(
        min_value=0.1, max_value=5, label="Offered load ρ", help_text="0.1 to 5; 1 is the capacity"
    )
    sessions = forms.IntegerField(
        min_value=100, max_value=24_000, help_text="100 to 24,000; the paper has 24,000"
    )
    seed = forms.IntegerField(min_value=0, help_text="the same seed brings the same customers")

    @property
    def most_live(self) -> int:
        """How many shops at once this machine has processors for; 0: live races are not offered."""
        return lane_cpus.most_shops(LAB)

    def clean(self) -> None:
        """A live race has no more lanes than there are processors for shops."""
        chosen = self.cleaned_data.get("policies", [])
        if self.cleaned_data.get("engine") == "live" and len(chosen) > self.most_live:
            most = self.most_live
            here = f"for {most} shops" if most else "for one shop only"
            self.add_error("engine", f"This machine has processors {here} beside everything else.")

    def clean_policies(self) -> list[str]:
        """The choice, if it is neither too few nor too many."""
        chosen: list[str] = self.cleaned_data["policies"]
        if not FEWEST <= len(chosen) <= MOST:
            raise forms.ValidationError(f"{len(chosen)} chosen; choose {FEWEST} to {MOST}.")
        return chosen

    def spec(self) -> Spec | None:
        """The spec of the race; None if a field is wrong, which is then said."""
        if not self.is_valid():
            return None
        given = self.cleaned_data
        names = ", ".join(title_of(stem(name)) for name in given["policies"])
        try:
            is_live = given["engine"] == "live"
            base = load_spec("lifo-pri" if is_live else "lifo-pri-simulated")
            return with_options(
                changed(base, title=f"Race: {names}"),
                {
                    "at_once": is_live or None,
                    "policies": given["policies"],
                    "rho": [given["rho"]],
                    "sessions": given["sessions"],
                    "seed": given["seed"],
                    "repetitions": 1,
                },
            )
        except SpecError as fault:
            self.add_error(None, str(fault))
            return None


BEGINS_WITH = {"policies": ["sq", "8q-lifo-pri"], "rho": 1.4, "sessions": 3000, "seed": 1}
"""What the form proposes."""
