"""The forms with the text and number fields of a lesson."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from django import forms

from lab.console.lessons.findings import Finding
from lab.console.models import MOST_ANSWER_CHARACTERS
from lab.lessons.sheet import number


class AnswerForm(forms.Form):
    """A form with one text field for each label."""

    def __init__(self, labels: Mapping[str, str], *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        for name, label in labels.items():
            self.fields[name] = forms.CharField(
                label=label,
                required=False,
                max_length=MOST_ANSWER_CHARACTERS,
                widget=forms.Textarea(attrs={"rows": 4}),
            )


def _check_number(text: str) -> None:
    try:
        is_number = math.isfinite(number(text))
    except ValueError:
        is_number = False
    if not is_number:
        raise forms.ValidationError("Write a number, for example 5.5.")


class ValuesForm(forms.Form):
    """A form with one number field for each value that a command prints."""

    def __init__(self, findings: Iterable[Finding], *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        for one in findings:
            if one.field:
                self.fields[one.field] = forms.CharField(
                    label=one.band.figure,
                    initial=one.written,
                    required=False,
                    max_length=30,
                    validators=[_check_number],
                    widget=forms.TextInput(attrs={"inputmode": "decimal"}),
                )
