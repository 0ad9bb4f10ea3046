"""The forms that change a run in progress: policy, shadows, abandonment, load and faults."""

from collections.abc import Iterator, Mapping
from typing import Any

from django import forms

from common.shared_settings import LONGEST_FAULT_S, SHORTEST_FAULT_S
from gateway.policies import ADMISSIONS, NO_ADMISSION, PolicyError, is_path
from gateway.policies.registry import admission_sheet, create
from gateway.policies.sheet import Parameter, Sheet
from gateway.students import files, naming
from lab.console.launches.forms import ABANDONMENTS
from lab.console.site import own_policies
from lab.files.run_folder import HIGHEST_LOAD_FACTOR
from lab.wording import title_of

_CHOICE_ERRORS = {
    "invalid_choice": "choose an entry of the list; %(value)s is not in the list",
    "required": "choose an entry of the list",
}


def _number_errors(low: float, high: float, kind: str = "a number") -> dict[str, str]:
    """Return the error texts of a field whose number must be from `low` to `high`. Each text
    follows the field's label."""
    allowed = f"must be {kind} from {low:,.12g} to {high:,.12g}"
    return dict.fromkeys(("required", "invalid", "min_value", "max_value"), allowed)


class PolicyForm(forms.Form):
    """The form for the policy, the admission policy in front of it, and the parameters of both.

    The field of a parameter has the name of the parameter. A parameter of the admission policy has
    the field `admission.<name>`, and a value per page type has the field `<name>.<page>`. If a
    field is missing, the parameter has its default value.
    """

    policy = forms.ChoiceField(
        choices=own_policies.choices,
        label="Policy",
        error_messages=_CHOICE_ERRORS,
    )
    admission = forms.ChoiceField(
        choices=[
            (name, "no admission" if name == NO_ADMISSION else title_of(name))
            for name in ADMISSIONS
        ],
        label="Session admission",
        error_messages=_CHOICE_ERRORS,
    )

    def __init__(self, given: Mapping[str, Any], ids: str = "id") -> None:
        """Create the form from the submitted fields, or from the present choice as `in_force`
        returns it.

        The ids of its elements begin with `ids`, because a page can contain two such forms.
        """
        policy, admission = given.get("policy", ""), given.get("admission", NO_ADMISSION)
        self.sheets: list[tuple[str, Sheet]] = []
        if (queueing := own_policies.sheet_of(policy)) is not None:
            self.sheets.append(("", queueing))
        if admission in ADMISSIONS:
            self.sheets.append(("admission.", admission_sheet(admission)))
        values: dict[str, Any] = {"policy": policy, "admission": admission}
        found: dict[str, forms.Field] = {}
        for prefix, known in self.sheets:
            for parameter in known.parameters:
                for name, default, field in _fields(parameter):
                    found[prefix + name] = field
                    values[prefix + name] = given.get(prefix + name, default)
        super().__init__(values, auto_id=f"{ids}_%s")
        self.fields |= found

    def call(self) -> Mapping[str, Any] | None:
        """Return the body of `PUT /policy`, or None if the form has an error to show."""
        if not self.is_valid():
            return None
        given = self.cleaned_data
        chosen = {prefix: _read(prefix, known, given) for prefix, known in self.sheets}
        own: dict[str, str] = {}
        try:  # values that contradict each other
            if is_path(given["policy"]):
                file = files.read(given["policy"])
                own = {"source": file.text}
                naming.check(file, chosen.get("", {}))
            else:
                create(given["policy"], chosen[""], given["admission"], chosen["admission."])
        except PolicyError as fault:
            name = fault.field.removeprefix("parameters.")
            name = name.replace("admission_parameters.", "admission.")
            text = self._in_labels(f"{fault.message}; allowed: {fault.allowed}")
            self.add_error(name if name in self.fields else None, text)
            return None
        return {
            "name": given["policy"],
            **own,
            "parameters": chosen.get("", {}),
            "admission": {"name": given["admission"], "parameters": chosen["admission."]},
        }

    def _in_labels(self, text: str) -> str:
        """Return the text, in which each parameter's label replaces its name."""
        for _, known in self.sheets:
            for parameter in known.parameters:
                text = text.replace(parameter.name, _label(parameter))
        return text

    @property
    def has_wrong_settings(self) -> bool:
        """Return whether a parameter has an error, so that the page shows its field."""
        return any(name not in ("policy", "admission", "__all__") for name in self.errors)

    def chosen(self) -> list[forms.BoundField]:
        """Return the fields with which a policy is chosen."""
        return [self["policy"], self["admission"]]

    def choosers(self) -> str:
        """Return a CSS selector for the fields with which a policy is chosen."""
        return ", ".join(f"#{field.id_for_label}" for field in self.chosen())

    def numbers(self) -> list[forms.BoundField]:
        """Return the fields for the parameters that have one value."""
        return [self[name] for name in self.fields if name not in ("policy", "admission")
                and not _of_a_page(name)]  # fmt: skip

    def tables(self) -> dict[str, list[forms.BoundField]]:
        """Return the fields for each parameter that has a value per page type."""
        found: dict[str, list[forms.BoundField]] = {}
        for name in filter(_of_a_page, self.fields):
            found.setdefault(name.rpartition(".")[0], []).append(self[name])
        return found


class AbandonmentForm(forms.Form):
    """The form for abandonment: what happens, from now on, to the request of a customer who
    leaves."""

    abandonment = forms.ChoiceField(
        choices=list(ABANDONMENTS.items()),
        label="When a customer leaves",
        error_messages=_CHOICE_ERRORS,
    )


class LoadForm(forms.Form):
    """The form for the load factor, which multiplies the arrival rate until the run ends."""

    load_factor = forms.FloatField(
        min_value=0,
        max_value=HIGHEST_LOAD_FACTOR,
        label="Load factor",
        help_text=f"0 to {HIGHEST_LOAD_FACTOR:g}; 1 is the load with which the run began",
        widget=forms.NumberInput(attrs={"step": "any"}),
        error_messages=_number_errors(0, HIGHEST_LOAD_FACTOR),
    )


class FaultForm(forms.Form):
    """The form for a fault and its duration. The fault ends by itself."""

    for_s = forms.FloatField(
        min_value=SHORTEST_FAULT_S,
        max_value=LONGEST_FAULT_S,
        initial=100,
        label="Duration (paper s)",
        help_text=f"{SHORTEST_FAULT_S:g} to {LONGEST_FAULT_S:g} paper seconds",
        widget=forms.NumberInput(attrs={"step": "any"}),
        error_messages=_number_errors(SHORTEST_FAULT_S, LONGEST_FAULT_S),
    )


PROPOSED_SHADOW = {"policy": "door-lifo"}
"""The values that the form for a new shadow suggests."""


def in_force(policy: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values for the form's fields from the policy of a snapshot."""
    admission = policy["admission"]
    found = {"policy": policy.get("file", policy["name"]), "admission": admission["name"]}
    for prefix, values in (("", policy["parameters"]), ("admission.", admission["parameters"])):
        for name, value in values.items():
            pages = value.items() if isinstance(value, dict) else [("", value)]
            found |= {f"{prefix}{name}.{page}" if page else prefix + name: v for page, v in pages}
    return found


def _fields(parameter: Parameter) -> Iterator[tuple[str, int | float, forms.Field]]:
    """Yield the field's name, default and form field for each number of a parameter."""
    if isinstance(parameter.default, Mapping):
        for page, number in parameter.default.items():
            yield f"{parameter.name}.{page}", number, _field(parameter, str(page), number)
    else:
        field = _field(parameter, _label(parameter), parameter.default)
        yield parameter.name, parameter.default, field


def _label(parameter: Parameter) -> str:
    return parameter.name.replace("_", " ").removesuffix(" s")


def _field(parameter: Parameter, label: str, default: int | float) -> forms.Field:
    kind = forms.IntegerField if isinstance(default, int) else forms.FloatField
    allowed = f"{parameter.unit}, {parameter.low:,.12g} to {parameter.high:,.12g}"
    bounds: dict[str, Any] = {"min_value": parameter.low, "max_value": parameter.high}
    return kind(
        **bounds,
        label=label,
        help_text=parameter.meaning if parameter.unit == "switch" else allowed,
        error_messages=_number_errors(
            parameter.low,
            parameter.high,
            "a whole number" if kind is forms.IntegerField else "a number",
        ),
        widget=forms.NumberInput(attrs={"step": 1 if kind is forms.IntegerField else "any"}),
    )


def _read(prefix: str, known: Sheet, given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        parameter.name: {
            page: given[f"{prefix}{parameter.name}.{page}"] for page in parameter.default
        }
        if isinstance(parameter.default, Mapping)
        else given[prefix + parameter.name]
        for parameter in known.parameters
    }


def _of_a_page(name: str) -> bool:
    return "." in name.removeprefix("admission.")
