"""The origin of a result: who launched, imported or submitted it, how long its launch took, and the
differences between its machine and this machine. The permissions that depend on the origin are also
in this module.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import QuerySet
from django.http import HttpRequest

from lab.console.models import Launch
from lab.console.results.result_list import ResultEntry, entry_of
from lab.console.site.permissions import Permission, is_teacher, name_of
from lab.console.site.settings import LAB
from lab.machine.description import describe_machine, describe_versions
from lab.spec.own_policies import COPIES


@dataclass(frozen=True, slots=True)
class Listed:
    """One row of the result list: a result and its origin."""

    result: ResultEntry
    took_s: float | None
    """The duration of the last launch, or of a reference result's command, in real seconds; None if
    unknown."""
    by: str
    """The person who launched or imported the result; `Doorbuster` for a reference result; empty if
    unknown."""


def listed(results: Sequence[ResultEntry]) -> list[Listed]:
    """Return these results with their origins."""
    launches = {
        one.result: one
        for one in Launch.objects.filter(result__in=[one.name for one in results])
        .only("result", "by", "began_at", "ended_at")
        .order_by("asked_at")
    }
    return [_listed(one, launches.get(one.name)) for one in results]


def _listed(result: ResultEntry, launch: Launch | None) -> Listed:
    if result.reference:
        return Listed(result, result.reference.took_real_s or None, "Doorbuster")
    if result.imported:
        return Listed(result, None, result.imported.by)
    return Listed(result, launch.took_s if launch else None, launch.by if launch else "")


MACHINE = {"cpu": "CPU", "cpus": "CPUs", "memory_gib": "GiB of memory", "shop_workers": "workers"}
"""The properties of a machine that determine the speed of a live run."""
CODE = {"code": "code of the experiments", "parts": "code of gateway, shop and hosting platform"}
VERSIONS = {**CODE, "python": "Python"}


def differences(result: ResultEntry) -> list[str]:
    """Return the known differences of machine and versions between the result and this lab, such as
    `CPUs: 4 there, 2 here`.

    If the result has a fingerprint of its code, the versions of Doorbuster are not compared,
    because the same code gives the same results.
    """
    has_fingerprint = CODE.keys() <= result.versions.keys()
    names = VERSIONS if has_fingerprint else {**VERSIONS, "doorbuster": "version"}
    if result.engine == "simulated":
        names = {name: words for name, words in names.items() if name != "parts"}
    pairs = (
        (MACHINE, result.machine, describe_machine(LAB)),
        (names, result.versions, describe_versions()),
    )
    return [line for names, there, here in pairs for line in _unlike(names, there, here)]


def _unlike(
    names: Mapping[str, str], there: Mapping[str, Any], here: Mapping[str, Any]
) -> list[str]:
    return [
        f"{words}: {there[name]} there, {here.get(name)} here"
        for name, words in names.items()
        if name in there and there[name] != here.get(name)
    ]


# ---- permissions --------------------------------------------------------------------------------


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
"""The permission for teachers and for the person who imported the result, to see the confirmation
page and to delete the result."""


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
"""The permission for teachers, and for students if the result has no policy that another person
submitted."""


SCORE_COMMAND: Final = ["policy", "score", "--with-known"]


def _submissions(**chosen: str) -> QuerySet[Launch]:
    group, command, *_ = SCORE_COMMAND
    return Launch.objects.filter(arguments__0=group, arguments__1=command, **chosen)


def submissions_of(person: str) -> list[Launch]:
    """Return this person's submissions, from the newest to the oldest."""
    return list(_submissions(by=person).order_by("-asked_at"))


def author_of(result: str) -> str | None:
    """Return the person whose submission made this result; None if no submission made it."""
    found = _submissions(result=result).first()
    return None if found is None else found.by
