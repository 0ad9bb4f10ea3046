"""The text fields of a lesson."""

from collections.abc import Mapping
from typing import Any

from django import forms

from lab.console.models import MOST_ANSWER_CHARACTERS


class AnswerForm(forms.Form):
    """One text field for each label."""

    def __init__(self, labels: Mapping[str, str], *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        for name, label in labels.items():
            self.fields[name] = forms.CharField(
                label=label,
                required=False,
                max_length=MOST_ANSWER_CHARACTERS,
                widget=forms.Textarea(attrs={"rows": 4}),
            )
