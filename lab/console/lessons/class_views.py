"""The pages for teachers: the class's progress, and the work that was handed in. Students can also
read the work that they handed in."""

import io
import zipfile
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.http import content_disposition_header

from lab.console.lessons.handing_in import file_name
from lab.console.lessons.work import Progress, progress_of_all
from lab.console.models import HandIn
from lab.console.site.permissions import Permission, answers, name_of
from lab.console.site.settings import LAB
from lab.lessons.sheet import sheets


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
    return _download(packed.getvalue(), "application/zip", f"lab-{number}.zip")


@hand_in_owners.get
def handed_in(request: HttpRequest, pk: int) -> HttpResponse:
    """Return a person's work on a lesson as a file, as it was handed in."""
    found = get_object_or_404(HandIn, pk=pk)
    return _download(found.text.encode(), "text/markdown; charset=utf-8", file_name(found))


def _of_class() -> QuerySet[HandIn]:
    return HandIn.objects.exclude(by="")


def _download(content: bytes, kind: str, name: str) -> HttpResponse:
    response = HttpResponse(content, content_type=kind)
    response["Content-Disposition"] = content_disposition_header(True, name)
    return response
