"""The list of lessons, and the pages of each lesson."""

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views import static

from lab.console.launches.submission import submit
from lab.console.lessons import findings, handing_in, work
from lab.console.lessons.starting import start_of
from lab.console.lessons.step_page import (
    AnswerForm,
    ValuesForm,
    html_for,
    may_choose,
    prediction_form,
    step_page,
)
from lab.console.lessons.work import (
    notes_field,
    prediction_field,
    question_field,
    result_field,
    work_of,
)
from lab.console.models import HandIn, Launch
from lab.console.results import result_list
from lab.console.site import permissions
from lab.console.site.permissions import name_of, readers, students
from lab.console.site.settings import LAB
from lab.lessons.sheet import FOLDER, Sheet, Step, sheets

PICTURES = FOLDER.parent / "images" / "labs"


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


@students.get_or_post
def step(request: HttpRequest, number: int, step: int) -> HttpResponse:
    """Show a step. When notes are submitted, mark the step as done and redirect to the next
    step."""
    sheet, found = _step(number, step)
    person = name_of(request)
    field = notes_field(step)
    form = AnswerForm({field: "Your notes and answers"}, request.POST or None)
    if request.method == "POST" and form.is_valid():
        work.write(person, sheet, field, form.cleaned_data[field])
        if step == len(sheet.steps):
            return redirect("lesson-questions", number)
        return redirect("lesson-step", number, step + 1)
    return step_page(request, sheet, found, form)


@students.post
def predict(request: HttpRequest, number: int, step: int) -> HttpResponse:
    """Save a prediction. The page then shows the answer, so the prediction can no longer change."""
    sheet, found = _step(number, step)
    person = name_of(request)
    field = prediction_field(step)
    form = prediction_form(step, request.POST)
    if not form.is_valid():
        return step_page(request, sheet, found, prediction=form)
    if field not in work_of(person, sheet).answers:
        work.write(person, sheet, field, form.cleaned_data[field])
    return redirect("lesson-step", number, step)


@students.post
def launch(request: HttpRequest, number: int, step: int) -> HttpResponse:
    """Launch the experiment of a step. The page of the step shows the progress."""
    sheet, found = _step(number, step)
    start = start_of(sheet, found)
    if start is None or start.fault:
        raise Http404
    launches: list[Launch] = []

    def make() -> Launch:
        launches.append(start.experiment.launch(permissions.allowance_of(request)))
        return launches[0]

    submit(request, make)  # the next page shows its messages
    for made in launches:
        if Launch.objects.filter(pk=made.pk).exists():
            work.began(name_of(request), sheet, step, made)
    return redirect("lesson-step", number, step)


@students.post
def values(request: HttpRequest, number: int, step: int) -> HttpResponse:
    """Save the values that a person has read from the output of a command."""
    sheet, found = _step(number, step)
    person = name_of(request)
    form = ValuesForm(findings.of_step(work_of(person, sheet), step), request.POST)
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
    work.keep(name_of(request), sheet, {result_field(step): name})
    return redirect("lesson-step", number, step)


@students.get_or_post
def questions(request: HttpRequest, number: int) -> HttpResponse:
    """Show the questions of a lesson with this person's answers, or save submitted answers. The
    button *Save and hand in* also saves a file for the teacher."""
    sheet = _sheet(number)
    person = name_of(request)
    labels = {question_field(one.number): f"Answer {one.number}" for one in sheet.questions}
    done = work_of(person, sheet)
    form = AnswerForm(labels, request.POST or None, initial=done.answers)
    if request.method == "POST" and form.is_valid():
        work.keep(person, sheet, form.cleaned_data)
        if "hand-in" in request.POST:
            handing_in.hand_in(person, work_of(person, sheet))
        return redirect("lesson-questions", number)
    context = {
        "sheet": sheet,
        "work": done,
        "form": form,
        "asked": [
            (html_for(request, one.text), form[question_field(one.number)])
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
    return static.serve(request, name, document_root=str(PICTURES))


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
