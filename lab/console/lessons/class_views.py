"""The pages for teachers: the class's progress, and the work that was handed in.

Students can also read the work that they handed in.
"""

import io
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone

from lab.console.lessons import work as lesson_work
from lab.console.lessons.work import Finding, Progress, Work, findings_of, progress_of_all
from lab.console.models import HandIn
from lab.console.site.permissions import Permission, answers, name_of
from lab.console.site.sending import attached
from lab.console.site.settings import LAB
from lab.lessons.sheet import BAND_COLUMNS, Step, sheets


def _for_who_handed_in(request: HttpRequest, arguments: Mapping[str, Any]) -> str:
    if HandIn.objects.filter(by=name_of(request), **arguments).exists():
        return ""
    return "Only a teacher and the person who handed in this work can read it."


hand_in_owners = Permission(reads=_for_who_handed_in, sends=_for_who_handed_in)
"""The permission for teachers and for the person who handed in the work."""


@answers.get
def overview(request: HttpRequest) -> HttpResponse:
    """Show each person's progress in each lesson, and which lessons they have handed in."""
    if not LAB.lab_accounts:
        raise Http404
    progress = progress_of_all()
    people = sorted({*User.objects.values_list("username", flat=True), *filter(None, progress)})
    handed_in: dict[str, dict[int, HandIn]] = defaultdict(dict)
    for one in _of_class().defer("text"):
        handed_in[one.by][one.lesson] = one
    nothing = Progress(0, 0)
    rows = [
        (
            person,
            [
                (sheet, progress.get(person, {}).get(sheet.number, nothing),
                 handed_in.get(person, {}).get(sheet.number))
                for sheet in sheets()
            ],
        )
        for person in people
    ]  # fmt: skip
    numbers = {lesson for mine in handed_in.values() for lesson in mine}
    context = {"sheets": sheets(), "rows": rows, "handed_in": sorted(numbers)}
    return render(request, "console/lessons_class.html", context)


@answers.get
def everything(request: HttpRequest, number: int) -> HttpResponse:
    """Return all work handed in for a lesson as one ZIP file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as bundle:
        for one in _of_class().filter(lesson=number).order_by("by"):
            bundle.writestr(file_name(one), one.text)
    return attached(packed.getvalue(), "application/zip", f"lab-{number}.zip")


@hand_in_owners.get
def handed_in(request: HttpRequest, pk: int) -> HttpResponse:
    """Return a person's work on a lesson as a file, as it was handed in."""
    found = get_object_or_404(HandIn, pk=pk)
    return attached(found.text, "text/markdown; charset=utf-8", file_name(found))


def _of_class() -> QuerySet[HandIn]:
    return HandIn.objects.exclude(by="")


# ---- the file -----------------------------------------------------------------------------------


def hand_in(person: str, work: Work) -> HandIn:
    """Save the current work for the teacher. The saved work replaces any work that the person
    handed in earlier."""
    now = timezone.now()
    who = f"{person}, " if person else ""
    head = f"# Lab {work.sheet.number}: {work.sheet.title}\n\n{who}{now:%Y-%m-%d %H:%M} UTC"
    made, _ = HandIn.objects.update_or_create(
        by=person,
        lesson=work.sheet.number,
        defaults={"text": "\n\n".join([head, *_paragraphs(work)]) + "\n", "at": now},
    )
    return made


def file_name(handed_in: HandIn) -> str:
    """Return a name for the file, with the person's name if the console knows it:
    `lab-1-bert.md`."""
    who = f"-{handed_in.by}" if handed_in.by else ""
    return f"lab-{handed_in.lesson}{who}.md"


def _paragraphs(work: Work) -> Iterator[str]:
    for step in work.sheet.steps:
        yield from _of_step(work, step)
    yield "## Questions"
    for question in work.sheet.questions:
        yield f"**{question.number}.** {question.text}"
        yield _quoted(work.answers.get(lesson_work.question_field(question.number), ""))


def _of_step(work: Work, step: Step) -> Iterator[str]:
    notes = work.answers.get(lesson_work.notes_field(step.number))
    yield f"## Step {step.number}. {step.title}"
    if notes is None:
        yield "This step is not marked as done."
    for part in step.parts:
        if part.is_prediction:
            yield f"**Predict.** {part.markdown}"
            yield _quoted(work.answers.get(lesson_work.prediction_field(step.number), ""))
    if result := work.result_of(step.number):
        yield f"Result: `{result}`"
    found = findings_of(work, step.number)
    if any(one.value is not None for one in found):
        yield _table(found)
    if notes:
        yield "Notes:"
        yield _quoted(notes)


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in (text or "(no answer)").splitlines())


def _table(found: list[Finding]) -> str:
    figure, _, _, *limits = BAND_COLUMNS
    header = [figure, "Found", "Outcome", *limits]
    rows = [
        [
            one.band.figure,
            one.written or "–",
            one.outcome.value if one.outcome else "–",
            one.band.expected,
            one.band.quiet,
            one.band.busy,
        ]
        for one in found
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows))
