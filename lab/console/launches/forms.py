"""The launch form: the fields of a spec, with the allowed range of each field. The rules for specs
are in `lab.spec.experiment`, and apply to forms, files and the command line alike."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator

from common import bounded, hosts
from gateway.policies import ADMISSIONS
from lab.baselines.sheets import PROXIES
from lab.cli.experiment_options import with_options
from lab.console.site import own_policies
from lab.console.site.allowances import Allowance, AllowanceError, require
from lab.console.site.settings import LAB
from lab.errors import Fault, SpecError
from lab.spec import shop_cpus
from lab.spec.experiment import CHANGES, MOST_SEED, Spec, changed, checked_without_files, spec_of
from lab.spec.own_policies import named_by
from lab.spec.sections import LEAST_RHO, MOST_RHO
from lab.wording import title_of

ABANDONMENTS = {
    "ignore": "ignore: orphan requests are served in full",
    "drop-queued": "drop-queued: a waiting request is removed from its queue",
    "cancel": "cancel: a request in service is also stopped, with its query in the database",
}
PROFILES = {
    "paper": "paper: the execution times in Table 2 of the LIFO-Pri paper",
    "cpu": "cpu: CPU time only, 0.30 s ± 50 % for every page",
    "real": "real: only the work that the page really does",
}

_PROXY_NAMES = " and ".join(map(title_of, PROXIES))

_PARSING = bounded.Bounds(memory_bytes=128 * 2**20, cpu_s=5, wall_s=20)

_FIELD_OF = {"policy": "policies"}
"""The form field that shows the error of a key. A key that is not in this mapping has the same name
as its field.
"""

_ESSENTIAL = ("policies", "rho", "sessions", "duration_s", "repetitions", "engine")
_COMPARED = ("gateway", "admission", "abandonment")
"""Fields that the page shows unfolded if the experiment compares several of their values."""
_DECIMAL_COMMA = re.compile(r"(\d+),(\d+)")
"""The pattern of a number with a decimal comma. Two whole loads with a comma
and no space between them also match."""


class LaunchForm(forms.Form):
    """The launch form. Values without a field come from the base spec."""

    title = forms.CharField(max_length=200)
    engine = forms.ChoiceField(
        choices=[
            ("live", "live: real requests to the real shop"),
            ("simulated", "simulated: the same policies in virtual time"),
        ],
        widget=forms.RadioSelect,
    )
    policies = forms.MultipleChoiceField(
        choices=own_policies.choices, widget=forms.CheckboxSelectMultiple
    )
    gateway = forms.MultipleChoiceField(
        choices=[(name, title_of(name)) for name in PROXIES],
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Baseline proxies in place of the gateway (live)",
        help_text=f"{_PROXY_NAMES} are real programs, so the simulated engine cannot run them.",
    )
    admission = forms.MultipleChoiceField(
        choices=[(name, name) for name in ADMISSIONS],
        widget=forms.CheckboxSelectMultiple,
        label="Session admission before each policy",
    )
    abandonment = forms.MultipleChoiceField(
        choices=list(ABANDONMENTS.items()),
        widget=forms.CheckboxSelectMultiple,
        label="When a customer leaves",
    )
    rho = forms.CharField(
        max_length=2000,
        label="Offered loads ρ",
        help_text="1 is the capacity; separate several loads by commas, e.g. 0.85, 1.4",
    )
    sessions = forms.IntegerField(
        min_value=1,
        max_value=1_000_000,
        required=False,
        help_text="number of sessions that start in each run; you can give a duration instead",
    )
    duration_s = forms.FloatField(
        min_value=1,
        max_value=1_000_000,
        required=False,
        label="Duration, paper seconds",
        help_text="period in which sessions arrive; you can give a number of sessions instead",
    )
    at_once = forms.ChoiceField(
        choices=[
            ("", "one after the other"),
            ("yes", "at the same time, each on a separate shop (live, two to four runs)"),
        ],
        required=False,
        widget=forms.RadioSelect,
        label="Runs",
    )
    repetitions = forms.IntegerField(
        min_value=1,
        max_value=1000,
        help_text="number of runs for each policy and load; two or more runs give confidence "
        "intervals",
    )
    page_profile = forms.ChoiceField(choices=list(PROFILES.items()), label="Work of a page")
    seed = forms.IntegerField(
        min_value=0, max_value=MOST_SEED, help_text="the same seed gives the same customers"
    )
    time_scale = forms.FloatField(
        min_value=1, max_value=100, help_text="paper seconds per real second (live)"
    )

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        if not shop_cpus.most_shops(LAB):
            del self.fields["at_once"]
        if not hosts.is_loopback(LAB.shop_host):  # proxies run natively, next to the shop
            del self.fields["gateway"]
        name_labels_in_errors(self)

    @property
    def essential(self) -> list[forms.BoundField]:
        """The fields that the page shows unfolded. These are the main fields, and each other field
        for which the experiment compares several values."""
        names = (*_ESSENTIAL, *_COMPARED)
        return [self[name] for name in names if name in self.fields and self._is_essential(name)]

    @property
    def further(self) -> list[forms.BoundField]:
        """The fields that the page shows folded: all fields that are not `essential`."""
        return [self[name] for name in self.fields if not self._is_essential(name)]

    @property
    def has_further_errors(self) -> bool:
        """Whether a folded field has an error. The page then unfolds the fields."""
        return any(field.errors for field in self.further)

    def _is_essential(self, name: str) -> bool:
        initially = self[name].initial
        if name in _COMPARED:
            return len(initially or ()) > 1
        if name == "duration_s":  # nearly all experiments have a number of sessions instead
            return initially is not None
        return name in _ESSENTIAL

    def clean_rho(self) -> list[float]:
        given = self.cleaned_data["rho"].strip()
        if decimal := _DECIMAL_COMMA.fullmatch(given):
            point = ".".join(decimal.groups())
            raise forms.ValidationError(
                f"Did you mean {point}? To give two loads, write a space after the comma: "
                f"{', '.join(decimal.groups())}."
            )
        try:
            loads = [float(one) for one in given.replace(";", ",").split(",")]
        except ValueError:
            raise forms.ValidationError(
                f"“{given:.80}” is not valid. Enter numbers separated by commas, e.g. 0.85, 1.4, 2."
            ) from None
        outside = [rho for rho in loads if not LEAST_RHO <= rho <= MOST_RHO]
        if outside:
            raise forms.ValidationError(
                f"Offered loads must be between {LEAST_RHO:g} and {MOST_RHO:g}, not {outside[0]:g}."
            )
        return loads

    def clean(self) -> None:
        """Reject baseline proxies in a simulation, because they can take part only in live runs."""
        chosen = self.cleaned_data.get("gateway", [])
        if chosen and self.cleaned_data.get("engine") == "simulated":
            names = " and ".join(map(title_of, chosen))
            programs = "is a real program" if len(chosen) == 1 else "are real programs"
            them = "it" if len(chosen) == 1 else "them"
            engine = self.fields["engine"].label or "Engine"
            self.add_error(
                "gateway",
                f"{names} {programs}, so the simulated engine cannot run {them}. "
                f"Choose “live” under {engine}, or clear this choice.",
            )

    def spec(self, base: Spec, allowance: Allowance) -> Spec | None:
        """Return the spec that the fields describe, or None if the form has an error to show."""
        if not self.is_valid():
            return None
        given = self.cleaned_data
        has_end = base.load.sessions is not None or base.load.duration_s is not None
        if has_end and given["sessions"] is None and given["duration_s"] is None:
            self.add_error("sessions", "Give a number of sessions, or a duration.")
            return None
        if given["sessions"] is not None and given["duration_s"] is not None:
            self.add_error("sessions", "Give a number of sessions or a duration, not both.")
            return None
        try:
            own_policies.require_few(allowance, given["policies"])
        except AllowanceError as error:
            self.add_error("policies", str(error))
            return None
        try:
            # A spec with a FIFO server has no page profile, and must not get the form's value.
            is_same_profile = given["page_profile"] == base.page_profile
            titled = changed(base, title=given["title"], engine=given["engine"])
            spec = with_options(
                titled,
                {
                    **given,
                    **_policies(base, given),
                    "time_scale": given["time_scale"] if given["engine"] == "live" else None,
                    "page_profile": None if is_same_profile else given["page_profile"],
                    "at_once": bool(given.get("at_once")),
                },
            )
            _check_room(spec)
            return spec
        except SpecError as error:
            for fault in error.faults:
                self._add_fault(fault)
            return None

    def _add_fault(self, fault: Fault) -> None:
        """Show a fault at the field of its option or key, or else above the fields."""
        place = [one for one in fault.place if one != CHANGES]
        key = place[0].partition(".")[0].removeprefix("--").replace("-", "_") if place else ""
        field = _FIELD_OF.get(key, key)
        if field in self.fields:
            self.add_error(field, str(replace(fault, place=place[1:])))
        else:
            self.add_error(None, str(replace(fault, place=place)))


def name_labels_in_errors(form: forms.Form) -> None:
    """Put each field's label, and a number's allowed range, into the field's error messages."""
    for name, field in form.fields.items():
        label = str(field.label or name.replace("_", " ").capitalize())
        if isinstance(field, forms.MultipleChoiceField):
            field.error_messages["required"] = f"{label}: choose at least one."
        else:
            field.error_messages["required"] = f"{label} is required."
        if isinstance(field, forms.ChoiceField):  # a MultipleChoiceField is one, too
            field.error_messages["invalid_choice"] = (
                f"{label}: “%(value)s” is not in the list; choose from the list."
            )
        if isinstance(field, forms.IntegerField):  # a FloatField is one, too
            _name_range(field, label)


def _name_range(field: forms.IntegerField, label: str) -> None:
    words = f"{label} must be between {field.min_value:,} and {field.max_value:,}."
    kind = "a number" if isinstance(field, forms.FloatField) else "a whole number"
    field.error_messages["invalid"] = f"{label} must be {kind}."
    field.validators = [
        type(one)(one.limit_value, message=words)
        if isinstance(one, MinValueValidator | MaxValueValidator)
        else one
        for one in field.validators
    ]


def _policies(base: Spec, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the chosen policies; None for each choice if they are the spec's policies. The spec's
    list also has labels, which a new list would lose."""
    keys = ("policies", "gateway", "admission", "abandonment")
    own, chosen = initial(base), {key: given.get(key, []) for key in keys}
    is_same = all(set(chosen[key]) == set(own[key]) for key in keys)
    return {key: None if is_same else values or None for key, values in chosen.items()}


def initial(spec: Spec) -> dict[str, Any]:
    """Return the values of the form's fields for a spec."""
    return {
        "title": spec.title,
        "engine": spec.engine,
        "policies": list(dict.fromkeys(one.name for one in spec.policy if one.gateway is None)),
        "gateway": list(dict.fromkeys(one.gateway for one in spec.policy if one.gateway)),
        "admission": list(dict.fromkeys(policy.admission for policy in spec.policy)),
        "abandonment": list(dict.fromkeys(spec.abandonment_of(policy) for policy in spec.policy)),
        "rho": ", ".join(f"{rho:g}" for rho in spec.load.rhos if rho is not None),
        "sessions": spec.load.sessions,
        "duration_s": spec.load.duration_s,
        "at_once": "yes" if spec.at_once else "",
        "repetitions": spec.repetitions,
        "page_profile": spec.page_profile,
        "seed": spec.seed,
        "time_scale": spec.time_scale,
    }


def uploaded(name: str, content: bytes, allowance: Allowance) -> Spec:
    """Return the spec in an uploaded file. Raises SpecError with a line for each fault."""
    name = f"{name:.80}"
    require(allowance, "spec_bytes", len(content))
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise SpecError(name, "is not UTF-8 text", allowed="a spec in TOML") from None
    return from_values(_parsed(text, name), name, allowance)


def from_values(plain: Mapping[str, Any], name: str, allowance: Allowance) -> Spec:
    """Return the spec with these values. Raises SpecError if the spec is invalid or exceeds a
    limit. Error messages call the spec `name`."""
    _check_own(plain, name, allowance)
    spec = checked_without_files(spec_of(plain, name), name)
    _check_room(spec)
    return spec


def _parsed(text: str, name: str) -> Mapping[str, Any]:
    """Return the values in the text of a spec. A process with limits on memory and time parses the
    text."""
    try:
        plain: Mapping[str, Any] = bounded.call(
            "lab.spec.text:as_json", {"text": text, "origin": name}, _PARSING
        )
        return plain
    except bounded.BoundsExceededError as fault:
        raise SpecError(name, str(fault), allowed="a spec in TOML") from None
    except bounded.BoundedError as fault:
        raise SpecError.of_child(fault) from None


def _check_own(plain: Mapping[str, Any], name: str, allowance: Allowance) -> None:
    """Raise SpecError if the spec names a policy file that the form does not offer, or too many
    policy files. The check reads no file."""
    offered = own_policies.own()
    named = named_by(plain)
    for path, _ in named:
        if path not in offered:
            raise SpecError(
                name,
                "policy",
                f"{path!r:.80} is not offered here",
                allowed=f"{', '.join(offered) or 'the files in own/'}, and names of policies",
            )
    own_policies.require_few(allowance, (path for path, _ in named))


def _check_room(spec: Spec) -> None:
    if spec.at_once:
        shop_cpus.plan(LAB, len(spec.policy), spec.at_once)
