"""The page of a step: its text, the forms for a person's texts and values, and the launch."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString

from lab.console.launches import queue
from lab.console.lessons import findings
from lab.console.lessons.findings import Finding
from lab.console.lessons.markdown import html
from lab.console.lessons.starting import Start, start_of
from lab.console.lessons.work import notes_field, prediction_field, work_of
from lab.console.models import MOST_ANSWER_CHARACTERS, Launch
from lab.console.results import result_list
from lab.console.site import permissions
from lab.console.site.monitoring_links import shop_address
from lab.console.site.permissions import name_of
from lab.console.site.settings import LAB
from lab.lessons.sheet import Sheet, Step, number


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
        raise forms.ValidationError(f"“{text}” is not a number. Write a number, for example 5.5.")


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


LISTED = 50
"""The number of newest results from which a teacher can choose the result of a step."""


def may_choose(request: HttpRequest) -> bool:
    """Return whether this person may choose a step's result instead of using the newest one."""
    return permissions.is_teacher(request)


def html_for(request: HttpRequest, text: str) -> SafeString:
    """Return a text of a sheet as HTML, with the shop's address for this visitor's browser."""
    return html(text, shop_address(request))


def prediction_form(step: int, given: object = None) -> AnswerForm:
    """Return the form for the prediction of a step. The person must enter a text."""
    field = prediction_field(step)
    form = AnswerForm({field: "Your prediction"}, given)
    form.fields[field].required = True
    return form


def step_page(
    request: HttpRequest,
    sheet: Sheet,
    found: Step,
    notes: AnswerForm | None = None,
    prediction: AnswerForm | None = None,
    read: ValuesForm | None = None,
) -> HttpResponse:
    """Return the page of a step, without the answer if a prediction is still missing."""
    done = work_of(name_of(request), sheet)
    predicted = done.answers.get(prediction_field(found.number), "")
    field = notes_field(found.number)
    if notes is None or not notes.is_bound:
        notes = AnswerForm({field: "Your notes and answers"}, initial=done.answers)
    prediction = prediction or prediction_form(found.number)
    start = start_of(sheet, found)
    found_values = findings.of_step(done, found.number)
    reads = any(not one.field for one in found_values)
    read = read or ValuesForm(found_values)
    launched = done.launches.get(found.number)
    is_open = bool(predicted) or not found.asks_prediction
    context = {
        "sheet": sheet,
        "step": found,
        "work": done,
        "parts": [(one, html_for(request, one.markdown)) for one in found.before_answer],
        "answer": [(one, html_for(request, one.markdown)) for one in found.answer],
        "predicted": predicted,
        "is_open": is_open,
        "prediction": prediction[prediction_field(found.number)],
        "notes": notes[field],
        "findings": [(one, read[one.field] if one.field else None) for one in found_values],
        "has_values": any(one.value is not None for one in found_values),
        "is_typed": bool(read.fields),
        "result": done.result_of(found.number),
        "results": result_list.entries()[:LISTED] if reads and may_choose(request) else (),
        "start": start,
        "refusal": _refusal(request, start),
        "launch": launched,
        "left_s": queue.shown_left_s(launched) if launched else None,
        "has_accounts": LAB.lab_accounts,
        "previous": found.number - 1,
        "next": found.number + 1 if found.number < len(sheet.steps) else None,
    }
    is_wrong = prediction.is_bound or notes.is_bound or read.is_bound
    status = 400 if is_wrong else 200
    return render(request, "console/lesson_step.html", context, status=status)


def _refusal(request: HttpRequest, start: Start | None) -> str:
    """Return the reason why this person may not launch the step's experiment here."""
    if start is None or start.fault:
        return ""
    return permissions.refusal(request, Launch(engine=start.experiment.engine))
