"""The pages of the lessons, with the forms for a person's texts and values."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.safestring import SafeString

from lab.console.launches import queue
from lab.console.launches.submission import launched
from lab.console.launches.views import OVER
from lab.console.lessons import class_views, work
from lab.console.lessons.markdown import html
from lab.console.lessons.starting import Start, start_of
from lab.console.lessons.work import Finding, Work, findings_of, work_of
from lab.console.models import MOST_ANSWER_CHARACTERS, HandIn, Launch
from lab.console.results import result_list
from lab.console.site import permissions
from lab.console.site.monitoring_links import shop_address
from lab.console.site.permissions import name_of, readers, students
from lab.console.site.sending import file_of
from lab.console.site.settings import LAB
from lab.errors import Fault
from lab.lessons.sheet import FOLDER, Sheet, Step, sheets
from lab.lessons.sheet import number as read_number

PICTURES = FOLDER.parent / "images" / "labs"
LISTED = 50
"""The number of newest results from which a teacher can choose the result of a step."""


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
        is_number = math.isfinite(read_number(text))
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


@readers.get
def lessons(request: HttpRequest) -> HttpResponse:
    """Show all lessons, with this person's progress in each."""
    person = name_of(request)
    return render(
        request,
        "console/lessons.html",
        {
            "works": [work_of(person, one) for one in sheets()],
            "has_class": LAB.lab_accounts and permissions.is_teacher(request),
        },
    )


@readers.get
def lesson(request: HttpRequest, number: int) -> HttpResponse:
    """Show the aim, the requirements and the steps of a lesson."""
    sheet = _sheet(number)
    context = {
        "sheet": sheet,
        "work": work_of(name_of(request), sheet),
        "aim": html_for(request, sheet.section("Aim")),
        "before": html_for(request, sheet.section("Before you start")),
    }
    return render(request, "console/lesson.html", context)


def may_choose(request: HttpRequest) -> bool:
    """Return whether this person may choose the result that a step uses. A student's step uses
    the result of the student's newest launch."""
    return permissions.is_teacher(request)


def html_for(request: HttpRequest, text: str) -> SafeString:
    """Return a text of a sheet as HTML, with the addresses of shop and console for this visitor's
    browser."""
    return html(text, shop_address(request), request.build_absolute_uri("/"))


def prediction_form(step: int, given: object = None) -> AnswerForm:
    """Return the form for the prediction of a step. The person must enter a text."""
    field = work.prediction_field(step)
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
    field = work.notes_field(found.number)
    if notes is None or not notes.is_bound:
        notes = AnswerForm({field: "Your notes and answers"}, initial=done.answers)
    prediction = prediction or prediction_form(found.number)
    start = start_of(sheet, found)
    context = {
        "work": done,
        "parts": [(one, html_for(request, one.markdown)) for one in found.before_answer],
        "answer": [(one, html_for(request, one.markdown)) for one in found.answer],
        "predicted": done.prediction(found),
        "is_open": done.is_open(found),
        "prediction": prediction[work.prediction_field(found.number)],
        "notes": notes[field],
        **_outcome(request, done, found, read),
        "start": start,
        "refusal": _refusal(request, start),
        "has_accounts": LAB.lab_accounts,
        "previous": found.number - 1,
        "next": found.number + 1 if found.number < len(sheet.steps) else None,
    }
    status = 400 if prediction.is_bound or notes.is_bound or read is not None else 200
    return render(request, "console/lesson_step.html", context, status=status)


def _outcome(
    request: HttpRequest, done: Work, found: Step, read: ValuesForm | None
) -> dict[str, Any]:
    """Return the newest launch of a step and the values of its result, as pages show them. `read`
    is a form that the person has just sent, if any.
    """
    findings = findings_of(done, found.number)
    read = read or ValuesForm(findings)
    reads = any(not one.field for one in findings)
    launch = done.launches.get(found.number)
    return {
        "sheet": done.sheet,
        "step": found,
        "launch": launch,
        "left_s": queue.shown_left_s(launch) if launch else None,
        "findings": [(one, read[one.field] if one.field else None) for one in findings],
        "has_values": any(one.value is not None for one in findings),
        "is_typed": bool(read.fields),
        "result": done.result_of(found.number),
        "results": result_list.entries()[:LISTED] if reads and may_choose(request) else (),
    }


def _refusal(request: HttpRequest, start: Start | None) -> Fault | None:
    """Return the reason why this person may not launch the step's experiment here."""
    if start is None or start.fault:
        return None
    return permissions.refusal(request, Launch(engine=start.experiment.engine))


@students.get_or_post
def step(request: HttpRequest, number: int, step: int) -> HttpResponse:
    """Show a step. When notes are submitted, mark the step as done and redirect to the next
    step."""
    sheet, found = _step(number, step)
    person = name_of(request)
    field = work.notes_field(step)
    form = AnswerForm({field: "Your notes and answers"}, request.POST or None)
    if request.method == "POST" and form.is_valid():
        work.write(person, sheet, field, form.cleaned_data[field])
        if step == len(sheet.steps):
            return redirect("lesson-questions", number)
        return redirect("lesson-step", number, step + 1)
    return step_page(request, sheet, found, form)


@students.post
def predict(request: HttpRequest, number: int, step: int) -> HttpResponse:
    """Save a prediction, which can then no longer change. The page then shows how to launch the
    step and what to look at.
    """
    sheet, found = _step(number, step)
    person = name_of(request)
    field = work.prediction_field(step)
    form = prediction_form(step, request.POST)
    if not form.is_valid():
        return step_page(request, sheet, found, prediction=form)
    if field not in work_of(person, sheet).answers:
        work.write(person, sheet, field, form.cleaned_data[field])
    return redirect("lesson-step", number, step)


@students.post
def launch(request: HttpRequest, number: int, step: int) -> HttpResponse:
    """Launch the experiment of a step, after the prediction if the step asks for one. The page of
    the step shows the progress."""
    sheet, found = _step(number, step)
    start = start_of(sheet, found)
    if start is None or start.fault or not work_of(name_of(request), sheet).is_open(found):
        raise Http404
    allowance = permissions.allowance_of(request)
    if made := launched(request, lambda: start.experiment.launch(allowance)):
        work.began(name_of(request), sheet, step, made)
    return redirect("lesson-step", number, step)


@readers.get
def launched_state(request: HttpRequest, number: int, step: int) -> HttpResponse:
    """Return the newest launch of a step as a fragment. If it has ended, the fragment also has the
    values of its result."""
    sheet, found = _step(number, step)
    done = work_of(name_of(request), sheet)
    launch = done.launches.get(step)
    if launch is None or not done.is_open(found):
        raise Http404
    return render(
        request,
        "console/lesson_launched.html",
        {**_outcome(request, done, found, None), "renewed": True},
        status=OVER if launch.has_ended else 200,
    )


@students.post
def values(request: HttpRequest, number: int, step: int) -> HttpResponse:
    """Save the values that a person has read from the output of a command."""
    sheet, found = _step(number, step)
    person = name_of(request)
    form = ValuesForm(findings_of(work_of(person, sheet), step), request.POST)
    if not form.is_valid():
        return step_page(request, sheet, found, read=form)
    work.keep(person, sheet, form.cleaned_data)
    return redirect("lesson-step", number, step)


@students.post
def result(request: HttpRequest, number: int, step: int) -> HttpResponse:
    """Save which result a step uses. An empty choice means the result of the newest launch."""
    sheet, _ = _step(number, step)
    name = request.POST.get("result", "")
    if not may_choose(request) or (name and result_list.entry_of(name) is None):
        raise Http404
    work.keep(name_of(request), sheet, {work.result_field(step): name})
    return redirect("lesson-step", number, step)


@students.get_or_post
def questions(request: HttpRequest, number: int) -> HttpResponse:
    """Show the questions of a lesson with this person's answers, or save submitted answers. The
    button *Save and hand in* also saves a file for the teacher."""
    sheet = _sheet(number)
    person = name_of(request)
    labels = {work.question_field(one.number): f"Answer {one.number}" for one in sheet.questions}
    done = work_of(person, sheet)
    form = AnswerForm(labels, request.POST or None, initial=done.answers)
    if request.method == "POST" and form.is_valid():
        work.keep(person, sheet, form.cleaned_data)
        if "hand-in" in request.POST:
            class_views.hand_in(person, work_of(person, sheet))
        return redirect("lesson-questions", number)
    context = {
        "sheet": sheet,
        "work": done,
        "form": form,
        "asked": [
            (html_for(request, one.text), form[work.question_field(one.number)])
            for one in sheet.questions
        ],
        "further": html_for(request, sheet.section("Going further")),
        "handed_in": HandIn.objects.filter(by=person, lesson=number).first(),
        "has_accounts": LAB.lab_accounts,
    }
    return render(request, "console/lesson_questions.html", context)


@readers.get
def picture(request: HttpRequest, name: str) -> HttpResponseBase:
    """Return a picture that the lab sheets use."""
    return file_of(request, name, PICTURES)


def _sheet(number: int) -> Sheet:
    found = next((one for one in sheets() if one.number == number), None)
    if found is None:
        raise Http404
    return found


def _step(number: int, step: int) -> tuple[Sheet, Step]:
    sheet = _sheet(number)
    found = next((one for one in sheet.steps if one.number == step), None)
    if found is None:
        raise Http404
    return sheet, found


urlpatterns = [
    path("lessons/", lessons, name="lessons"),
    path("lessons/pictures/<str:name>", picture, name="lesson-picture"),
    path("lessons/<int:number>/", lesson, name="lesson"),
    path("lessons/<int:number>/steps/<int:step>/", step, name="lesson-step"),
    path("lessons/<int:number>/steps/<int:step>/predict", predict, name="lesson-predict"),
    path("lessons/<int:number>/steps/<int:step>/launch", launch, name="lesson-launch"),
    path(
        "lessons/<int:number>/steps/<int:step>/launched",
        launched_state,
        name="lesson-launched",
    ),
    path("lessons/<int:number>/steps/<int:step>/values", values, name="lesson-values"),
    path("lessons/<int:number>/steps/<int:step>/result", result, name="lesson-result"),
    path("lessons/<int:number>/questions/", questions, name="lesson-questions"),
    path("lessons/handed-in/<int:pk>.md", class_views.handed_in, name="handed-in"),
    path("lessons/class/", class_views.overview, name="lessons-class"),
    path("lessons/class/<int:number>.zip", class_views.everything, name="lessons-class-zip"),
]
