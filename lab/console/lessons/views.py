"""The lessons: their list, the beginning of each, its steps, and its questions."""

from collections.abc import Mapping

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.safestring import SafeString
from django.views import static
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from lab.console.launches import queue
from lab.console.launches.submission import submit
from lab.console.lessons import findings, handing_in, work
from lab.console.lessons.forms import AnswerForm, ValuesForm
from lab.console.lessons.markdown import html
from lab.console.lessons.starting import Start, start_of
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
from lab.console.site.addresses import shop_address
from lab.console.site.permissions import name_of, readers, students
from lab.console.site.settings import LAB
from lab.lessons.sheet import FOLDER, Sheet, Step, sheets

LISTED = 50
"""The number of newest results that a step offers."""
PICTURES = FOLDER.parent / "images" / "labs"


@readers
@require_GET
def lessons(request: HttpRequest) -> HttpResponse:
    """Show all lessons, and how far this person is in each."""
    person = name_of(request)
    return render(
        request,
        "console/lessons.html",
        {
            "works": [work_of(person, one) for one in sheets()],
            "has_class": LAB.lab_accounts and permissions.is_teacher(request),
        },
    )


@readers
@require_GET
def lesson(request: HttpRequest, number: int) -> HttpResponse:
    """Show the aim of a lesson, what it needs, and its steps."""
    sheet = _sheet(number)
    context = {
        "sheet": sheet,
        "work": work_of(name_of(request), sheet),
        "aim": _html(request, sheet.section("Aim")),
        "before": _html(request, sheet.section("Before you start")),
    }
    return render(request, "console/lesson.html", context)


@students
@require_http_methods(["GET", "POST"])
def step(request: HttpRequest, number: int, step: int) -> HttpResponse:
    """Show a step; its notes, when they are sent, mark it as done and lead to the next one."""
    sheet, found = _step(number, step)
    person = name_of(request)
    field = notes_field(step)
    form = AnswerForm({field: "Your notes and answers"}, request.POST or None)
    if request.method == "POST" and form.is_valid():
        work.write(person, sheet, field, form.cleaned_data[field])
        if step == len(sheet.steps):
            return redirect("lesson-questions", number)
        return redirect("lesson-step", number, step + 1)
    return _shown(request, sheet, found, form)


@students
@require_POST
def predict(request: HttpRequest, number: int, step: int) -> HttpResponse:
    """Keep a prediction, which does not change once the page has shown the answer."""
    sheet, found = _step(number, step)
    person = name_of(request)
    field = prediction_field(step)
    form = _prediction_form(step, request.POST)
    if not form.is_valid():
        return _shown(request, sheet, found, prediction=form)
    if field not in work_of(person, sheet).answers:
        work.write(person, sheet, field, form.cleaned_data[field])
    return redirect("lesson-step", number, step)


@students
@require_POST
def launch(request: HttpRequest, number: int, step: int) -> HttpResponse:
    """Launch the experiment of a step; the step's page shows how far it is."""
    sheet, found = _step(number, step)
    start = start_of(sheet, found)
    if start is None or start.fault:
        raise Http404
    launches: list[Launch] = []

    def make() -> Launch:
        launches.append(start.launch(permissions.allowance_of(request)))
        return launches[0]

    submit(request, make)  # the next page shows its messages
    for made in launches:
        if Launch.objects.filter(pk=made.pk).exists():
            work.began(name_of(request), sheet, step, made)
    return redirect("lesson-step", number, step)


@students
@require_POST
def values(request: HttpRequest, number: int, step: int) -> HttpResponse:
    """Keep the values that a person has read from the output of a command."""
    sheet, found = _step(number, step)
    person = name_of(request)
    form = ValuesForm(findings.of_step(work_of(person, sheet), step), request.POST)
    if not form.is_valid():
        return _shown(request, sheet, found, read=form)
    _keep(person, sheet, form.cleaned_data)
    return redirect("lesson-step", number, step)


@students
@require_POST
def result(request: HttpRequest, number: int, step: int) -> HttpResponse:
    """Take a result of a terminal as the result of a step; the newest launch if none is chosen."""
    sheet, _ = _step(number, step)
    name = request.POST.get("result", "")
    if not may_choose(request) or (name and result_list.entry_of(name) is None):
        raise Http404
    _keep(name_of(request), sheet, {result_field(step): name})
    return redirect("lesson-step", number, step)


def may_choose(request: HttpRequest) -> bool:
    """Return whether this person may take any result: a student of a class has only launches."""
    return permissions.is_teacher(request)


def _keep(person: str, sheet: Sheet, texts: Mapping[str, str]) -> None:
    """Keep the text of each field; an empty text removes the field."""
    for field, text in texts.items():
        if text:
            work.write(person, sheet, field, text)
        else:
            work.erase(person, sheet, field)


@students
@require_http_methods(["GET", "POST"])
def questions(request: HttpRequest, number: int) -> HttpResponse:
    """Show the questions of a lesson with this person's answers; keep new ones, and hand in."""
    sheet = _sheet(number)
    person = name_of(request)
    labels = {question_field(one.number): f"Answer {one.number}" for one in sheet.questions}
    done = work_of(person, sheet)
    form = AnswerForm(labels, request.POST or None, initial=done.answers)
    if request.method == "POST" and form.is_valid():
        _keep(person, sheet, form.cleaned_data)
        if "hand-in" in request.POST:
            handing_in.hand_in(person, work_of(person, sheet))
        return redirect("lesson-questions", number)
    context = {
        "sheet": sheet,
        "work": done,
        "form": form,
        "asked": [
            (_html(request, one.text), form[question_field(one.number)]) for one in sheet.questions
        ],
        "further": _html(request, sheet.section("Going further")),
        "handed_in": HandIn.objects.filter(by=person, lesson=number).first(),
        "has_accounts": LAB.lab_accounts,
    }
    return render(request, "console/lesson_questions.html", context)


@readers
@require_GET
def picture(request: HttpRequest, name: str) -> HttpResponseBase:
    """Return a picture of the sheets."""
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


def _html(request: HttpRequest, text: str) -> SafeString:
    return html(text, shop_address(request))


def _prediction_form(step: int, given: object = None) -> AnswerForm:
    field = prediction_field(step)
    form = AnswerForm({field: "Your prediction"}, given)
    form.fields[field].required = True
    return form


def _shown(
    request: HttpRequest,
    sheet: Sheet,
    found: Step,
    notes: AnswerForm | None = None,
    prediction: AnswerForm | None = None,
    read: ValuesForm | None = None,
) -> HttpResponse:
    """Show a step; its answer only after the prediction."""
    done = work_of(name_of(request), sheet)
    predicted = done.answers.get(prediction_field(found.number), "")
    field = notes_field(found.number)
    if notes is None or not notes.is_bound:
        notes = AnswerForm({field: "Your notes and answers"}, initial=done.answers)
    prediction = prediction or _prediction_form(found.number)
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
        "parts": [(one, _html(request, one.markdown)) for one in found.before_answer],
        "answer": [(one, _html(request, one.markdown)) for one in found.answer],
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
        "left_s": queue.left_s(launched) if launched else None,
        "has_accounts": LAB.lab_accounts,
        "previous": found.number - 1,
        "next": found.number + 1 if found.number < len(sheet.steps) else None,
    }
    is_wrong = prediction.is_bound or notes.is_bound or read.is_bound
    status = 400 if is_wrong else 200
    return render(request, "console/lesson_step.html", context, status=status)


def _refusal(request: HttpRequest, start: Start | None) -> str:
    """Return why this person may not launch the step's experiment here."""
    if start is None or start.fault:
        return ""
    return permissions.refusal(request, Launch(engine=start.engine))
