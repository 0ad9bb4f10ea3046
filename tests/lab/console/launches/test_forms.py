"""The launch form: its fields, and the spec that they describe."""

import pytest

from lab.console.launches.forms import LaunchForm, initial
from lab.console.site.allowances import TEACHER
from lab.spec.experiment import SPECS, load_checked


@pytest.mark.parametrize("name", sorted(path.stem for path in SPECS.glob("*.toml")))
def test_an_unchanged_form_describes_its_experiment(name: str) -> None:
    """Nobody has to change a field before the form can be sent."""
    base = load_checked(name)
    shown = LaunchForm(initial=initial(base))
    sent = {field: shown[field].initial for field in shown.fields}
    form = LaunchForm({field: value for field, value in sent.items() if value is not None})
    assert form.spec(base, TEACHER) == base, form.errors
