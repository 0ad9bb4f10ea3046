"""The permissions to delete a result and to read the students' policies in it."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest

from lab.console.results.result_list import entry_of
from lab.console.site.permissions import Permission, is_teacher, name_of
from lab.console.site.submitted import author_of
from lab.spec.own_policies import COPIES


def may_delete(request: HttpRequest, result: str) -> bool:
    """Return whether this person is allowed to delete the result; students can delete only results
    that they imported.

    The results that come with Doorbuster cannot be deleted.
    """
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
    return "Only a teacher can delete this result; you can delete results that you imported."


result_owners = Permission(reads=_for_who_imported, sends=_for_who_imported)
"""The permission for teachers and for the person who imported the result, also for the page that
asks for confirmation."""


def _without_policies_of_others(request: HttpRequest, arguments: Mapping[str, Any]) -> str:
    """Return why a student must not read the files: the result contains a policy that another
    student submitted. Empty if reading is allowed."""
    file = arguments.get("file")
    if file is not None and COPIES not in file.split("/"):
        return ""
    author = author_of(arguments["name"])
    if author in (None, name_of(request)):
        return ""
    return (
        "This result contains the file of a policy that another person submitted to the scoreboard."
    )


policy_readers = Permission(reads=_without_policies_of_others, sends=_without_policies_of_others)
"""The permission for teachers, and for students if the result has no policy that another person
submitted."""
