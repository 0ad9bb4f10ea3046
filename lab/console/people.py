"""Who may do what: everybody everything on a machine of one's own; students and teachers in a lab.

Owns: the two roles, what each may do, making accounts. Must not know: what the pages show.

Without accounts (the default) the console listens on loopback and everybody is a teacher.
"""

import csv
import secrets
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin

from lab.console.models import Launch, State
from lab.console.settings import LAB
from lab.console.under_way import under_way

OPEN = {"login", "health", "metrics"}
STUDENTS_POST = {
    "launch", "predict", "upload", "race", "launch-cancel", "result-note", "result-again",
    "results-import", "login", "logout", "password",
}  # fmt: skip
"""What a student may send, by the name of the address; anything else is the teacher's."""
STEERING = "watch-"
"""Addresses that change the shop while it runs begin so."""
MOST_WAITING = 5
"""Launches of one student that may wait at a time."""
STANDARD_INPUT = "-"


class PeopleError(ValueError):
    """An account cannot be made; one line."""


class AccountsMiddleware(MiddlewareMixin):
    """Asks who one is, and refuses what one may not; only in force with accounts."""

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: Any, more: dict[str, Any]
    ) -> HttpResponse | None:
        """None to go on; a redirect to the login; raises PermissionDenied with its reason."""
        name = (request.resolver_match and request.resolver_match.url_name) or ""
        if name in OPEN:
            return None
        if not request.user.is_authenticated:
            if request.headers.get("HX-Request"):
                return HttpResponse(status=401, headers={"HX-Redirect": reverse("login")})
            return redirect_to_login(request.get_full_path())
        if not is_teacher(request):
            _check_student(request, name, more)
        return None


def _check_student(request: HttpRequest, name: str, more: dict[str, Any]) -> None:
    if name == "result-delete":  # asking is the first half of doing
        raise PermissionDenied("Only a teacher deletes results.")
    if request.method in ("GET", "HEAD"):
        return
    if name.startswith(STEERING):
        if LAB.lab_classroom or not _steers(request):
            raise PermissionDenied(
                "The shop is changed by the teacher, or by who launched the live run under way."
            )
    elif name not in STUDENTS_POST:
        raise PermissionDenied("Only a teacher may do this.")
    elif name == "launch-cancel" and not owns(request, Launch.objects.filter(**more).first()):
        raise PermissionDenied("Only who launched it, or a teacher, cancels it.")


def _steers(request: HttpRequest) -> bool:
    """Whether the run under way is one's own: a launch that only waits for it is none."""
    going = under_way()
    return going is not None and going.run is not None and owns(request, going.launch)


def is_teacher(request: HttpRequest) -> bool:
    """Whether one may do everything."""
    return not LAB.lab_accounts or request.user.is_staff


def owns(request: HttpRequest, launch: Launch | None) -> bool:
    """Whether this launch is one's own, or one is a teacher."""
    if is_teacher(request):
        return True
    return launch is not None and launch.by == request.user.get_username()


def name_of(request: HttpRequest) -> str:
    """Who this is, for notes and launches; empty without accounts."""
    return request.user.get_username() if LAB.lab_accounts else ""


def key_of(request: HttpRequest) -> str:
    """Of whom launches are counted."""
    return name_of(request) or str(request.META.get("REMOTE_ADDR", ""))


def refusal(request: HttpRequest, launch: Launch) -> str:
    """Why this person may not launch this now; empty when it is all right."""
    if is_teacher(request):
        return ""
    if LAB.lab_classroom and launch.is_live:
        return (
            "engine: live; allowed in the classroom: simulated. The teacher runs live experiments."
        )
    mine = Launch.objects.filter(by=name_of(request), state=State.QUEUED).count()
    if mine >= MOST_WAITING:
        return f"{mine} of your launches wait already; cancel one or wait until it begins"
    return ""


# ---- making accounts -----------------------------------------------------------------------------


def enrol(name: str, *, teacher: bool) -> str:
    """Make an account, or give one a new password and this role; returns the password.

    Raises PeopleError for a name that cannot be one.
    """
    from django.contrib.auth.models import User

    try:
        User.username_validator(name)
        if not name or len(name) > 150:
            raise ValidationError("length")
    except ValidationError:
        raise PeopleError(
            f"name: {name!r:.80}; allowed: up to 150 letters, digits and @ . + - _"
        ) from None
    password = secrets.token_urlsafe(9)
    user, _ = User.objects.get_or_create(username=name)
    user.is_staff, user.is_active = teacher, True
    user.set_password(password)
    user.save()
    return password


def names_in(file: Path) -> list[str]:
    """The first column of a CSV file, without its head `name` if it has one.

    Of STANDARD_INPUT it is what comes in. Raises PeopleError when it cannot be read, is empty or
    names somebody twice.
    """
    try:
        source = 0 if str(file) == STANDARD_INPUT else file
        with open(source, encoding="utf-8-sig", newline="", closefd=source != 0) as rows:
            names = [row[0].strip() for row in csv.reader(rows) if row and row[0].strip()]
    except (OSError, UnicodeDecodeError, csv.Error) as fault:
        raise PeopleError(f"{file}: cannot be read ({fault}); allowed: CSV, UTF-8") from None
    if names and names[0].lower() == "name":
        del names[0]
    if not names:
        raise PeopleError(f"{file}: has no names; allowed: one in the first column of each line")
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise PeopleError(f"{file}: {', '.join(sorted(twice))} stands there twice")
    return names


def enrol_students(names: Iterable[str]) -> list[tuple[str, str]]:
    """All of them or, when one name cannot be, none; name and password of each."""
    from django.db import transaction

    with transaction.atomic():
        return [(name, enrol(name, teacher=False)) for name in names]
