"""The control bar of the watch page: the forms for all changes, filled with the present
settings."""

from collections.abc import Callable, Mapping
from typing import Any

from django import forms

from gateway.policies.interface import PAGES
from lab.console.site.settings import LAB
from lab.console.watch.forms import (
    PROPOSED_SHADOW,
    AbandonmentForm,
    FaultForm,
    LoadForm,
    PolicyForm,
    in_force,
)
from lab.console.watch.live_run import under_way
from lab.engines.live.appliance import Appliance
from lab.errors import ExperimentError


def forms_in_force() -> dict[str, object]:
    """Return the forms of the watch page, filled with the gateway's present settings."""
    appliance = Appliance(LAB)
    try:
        snapshot = appliance.gateway.call("GET", "/snapshot")
        policy, mode = in_force(snapshot["policy"]), snapshot["abandonment"]["mode"]
    except ExperimentError:  # the page reports it once the stream begins
        policy, mode = {"policy": "sq"}, "ignore"
    finally:
        appliance.close()
    return {
        "policy_form": PolicyForm(policy),
        "abandonment_form": AbandonmentForm({"abandonment": mode}),
        "load_form": LoadForm({"load_factor": f"{_load_factor():g}"}),
        "fault_form": FaultForm(),
        "shadow_form": PolicyForm(PROPOSED_SHADOW, "shadow"),
        "pages": list(PAGES),
    }


def applied(
    name: str, form: forms.Form, change: Callable[[Mapping[str, Any]], str]
) -> dict[str, object]:
    """Make the change that a valid form describes, and return the form and the message to show.

    `change` receives the form's values and returns a text about what it did. The form shows any
    ExperimentError that `change` raises.
    """
    said = ""
    if form.is_valid():
        try:
            said = change(form.cleaned_data)
        except ExperimentError as fault:
            form.add_error(None, str(fault))
    return {f"{name}_form": form, f"{name}_said": said}


def _load_factor() -> float:
    """Return the present load factor of the run in progress; 1 if no run is in progress."""
    going = under_way()
    return 1.0 if going is None else float(going.told().get("load_factor", 1.0))
