"""The permissions to delete a result and to read the students' policies in it. The result of a
submission contains the submitted policy."""

from collections.abc import Mapping
from typing import Any, Final

from django.http import HttpRequest

from lab.console.models import Launch
from lab.console.results.result_list import entry_of
from lab.console.site.permissions import Permission, is_teacher, name_of
from lab.spec.own_policies import COPIES


def may_delete(request: HttpRequest, result: str) -> bool:
    """Return whether this person is allowed to delete the result. Students can delete only results
    that they imported. The results that come with Doorbuster cannot be deleted."""
    found = entry_of(result)
    if found and found.reference:
        return False
    if is_teacher(request):
        return True
    mark = None if found is None else found.imported
    return mark is not None and mark.by == request.user.get_username()


def _for_who_imported(request: HttpRequest, arguments: Mapping[str, Any]) -> str:
    if may_delete(request, arguments["name"]):
        return ""
    return "Only a teacher can delete this result. You can delete results that you imported."


result_owners = Permission(reads=_for_who_imported, sends=_for_who_imported)
"""The permission to delete a result, for teachers and for the person who imported it."""


def _without_policies_of_others(request: HttpRequest, arguments: Mapping[str, Any]) -> str:
    """Return why a student must not read the result's policies; empty if reading is allowed."""
    file = arguments.get("file")
    if file is not None and COPIES not in file.split("/"):
        return ""
    author = author_of(arguments["name"])
    if author in (None, name_of(request)):
        return ""
    return (
        "This result contains a policy that another person submitted to the scoreboard. Only a "
        "teacher and this person can read the policy's file."
    )


policy_readers = Permission(reads=_without_policies_of_others, sends=_without_policies_of_others)
"""The permission for teachers, and for students unless another person submitted the policy."""


SCORE_COMMAND: Final = ["policy", "score", "--with-known"]


def submissions_of(person: str) -> list[Launch]:
    """Return this person's submissions, from the newest to the oldest."""
    found = Launch.objects.filter(
        by=person, arguments__0=SCORE_COMMAND[0], arguments__1=SCORE_COMMAND[1]
    )
    return list(found.order_by("-asked_at"))


def author_of(result: str) -> str | None:
    """Return the person whose submission made this result; None if no submission made it."""
    found = Launch.objects.filter(
        result=result, arguments__0=SCORE_COMMAND[0], arguments__1=SCORE_COMMAND[1]
    ).first()
    return None if found is None else found.by
