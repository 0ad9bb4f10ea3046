"""The form for a new race, and the runs of a result that can race each other."""

from typing import Any

from django import forms

from gateway.policies import stem
from lab.cli.experiment_options import with_options
from lab.console.launches.forms import name_labels_in_errors
from lab.console.results.result_list import ResultEntry
from lab.console.site import own_policies
from lab.console.site.settings import LAB
from lab.errors import SpecError
from lab.files.run_folder import RunFolder
from lab.files.run_summary import PlannedRun
from lab.spec import shop_cpus
from lab.spec.experiment import MOST_SEED, Spec, changed, load_spec
from lab.wording import load_words, title_of

FEWEST, MOST = 2, 4

Run = tuple[PlannedRun, RunFolder]


def fields_of(result: ResultEntry) -> dict[str, list[Run]]:
    """Return the complete runs that can race each other, by the label of their group. The runs of a
    group, at least two, have the same load and the same customers, and are in the order of the
    spec's policies. The group with the largest load comes first, because policies differ most at
    this load. If the plan is damaged, the result is empty."""
    spec = result.spec
    place = {choice.key: number for number, choice in enumerate(spec.policy if spec else ())}
    found: dict[str, list[Run]] = {}
    for planned, run in sorted(result.runs, key=lambda one: place.get(one[0].policy, len(place))):
        if run.is_whole and run.samples_file.is_file():
            load = load_words(planned.rho)
            found.setdefault(f"{load}, seed {planned.seed}", []).append((planned, run))
    firsts = {name: runs[0][0] for name, runs in found.items() if len(runs) >= FEWEST}
    ordered = sorted(firsts, key=lambda name: (-(firsts[name].rho or 0.0), firsts[name].seed))
    return {name: found[name] for name in ordered}


class RaceForm(forms.Form):
    """The form for a new race: simulated, or live if this machine has enough processors."""

    engine = forms.ChoiceField(
        choices=[
            ("simulated", "simulated: takes between a few seconds and a few minutes"),
            ("live", "live: real requests to real shops, all at the same time"),
        ],
        initial="simulated",
        required=False,
        widget=forms.RadioSelect,
        label="Engine",
    )
    policies = forms.MultipleChoiceField(
        choices=own_policies.choices,
        widget=forms.CheckboxSelectMultiple,
        label=f"Policies, {FEWEST} to {MOST}",
    )
    rho = forms.FloatField(
        min_value=0.1, max_value=5, label="Offered load ρ", help_text="0.1 to 5; 1 is the capacity"
    )
    sessions = forms.IntegerField(
        min_value=100, max_value=24_000, help_text="100 to 24,000; the paper has 24,000 sessions"
    )
    seed = forms.IntegerField(
        min_value=0, max_value=MOST_SEED, help_text="the same seed gives the same customers"
    )

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.fields["engine"].help_text = (
            f"For live races, this machine has enough processors for {self.most_live} shops in "
            "addition to the other services."
        )
        name_labels_in_errors(self)
        self.fields["policies"].error_messages["required"] = (
            f"Choose {FEWEST} to {MOST} policies; you chose 0."
        )

    @property
    def most_live(self) -> int:
        """The maximum number of simultaneous shops; 0 if the machine cannot have live races."""
        return shop_cpus.most_shops(LAB)

    def clean(self) -> None:
        """Check that this machine can run a shop for each policy of a live race."""
        chosen = self.cleaned_data.get("policies", [])
        if self.cleaned_data.get("engine") == "live" and len(chosen) > self.most_live:
            most = self.most_live
            shops = f"{most} shops" if most else "one shop"
            few = f"at most {most} policies, or " if most else ""
            self.add_error(
                "engine",
                f"This machine has enough processors for only {shops} in addition to the other "
                f"services. Choose {few}the engine “simulated”.",
            )

    def clean_policies(self) -> list[str]:
        """Return the chosen policies; raise ValidationError if their number is not allowed."""
        chosen: list[str] = self.cleaned_data["policies"]
        if not FEWEST <= len(chosen) <= MOST:
            raise forms.ValidationError(
                f"Choose {FEWEST} to {MOST} policies; you chose {len(chosen)}."
            )
        return chosen

    def spec(self) -> Spec | None:
        """Return the spec of the race, or None if the form has an error to show."""
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
"""The values that the form suggests for a new race."""
