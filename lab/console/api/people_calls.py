"""The API calls about the caller and about accounts."""

from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest
from ninja.responses import Status

from lab.console.api import schemas
from lab.console.api.api import call
from lab.console.people import accounts
from lab.console.site import permissions
from lab.console.site.permissions import readers, teachers
from lab.console.site.settings import LAB

Call = Callable[..., dict[str, Any]]


@call("GET", "me", readers, schemas.Me)
def me(request: HttpRequest) -> dict[str, Any]:
    """Show the name and the role of the caller."""
    role = "teacher" if permissions.is_teacher(request) else "student"
    return {"name": permissions.name_of(request), "role": role}


@call("GET", "accounts", teachers, schemas.Accounts, 403, 404)
def everyone(request: HttpRequest) -> dict[str, Any]:
    """List all accounts (only for teachers)."""
    _require_accounts()
    return {"accounts": [_account(one) for one in accounts.everyone()]}


@call("POST", "accounts", teachers, schemas.MadeStudents, 404, status=201)
def make(request: HttpRequest, wanted: schemas.NewStudents) -> Status[dict[str, Any]]:
    """Create accounts for students (only for teachers)."""
    _require_accounts()
    made, existing = accounts.make_students(wanted.names, teacher=request.user)
    new = [{"name": name, "password": password} for name, password in made]
    return Status(201, {"made": new, "existing": existing})


def _change(change: str) -> Callable[[Call], Call]:
    return call("POST", f"accounts/{{name}}/{change}", teachers, schemas.Account, 404)


@_change("disable")
def disable(request: HttpRequest, name: schemas.AccountName) -> dict[str, Any]:
    """Disable an account: end its sessions and launches, and revoke its tokens (only for
    teachers)."""
    return _changed(request, name, "disable")


@_change("enable")
def enable(request: HttpRequest, name: schemas.AccountName) -> dict[str, Any]:
    """Enable a disabled account (only for teachers)."""
    return _changed(request, name, "enable")


def _changed(request: HttpRequest, name: str, change: str) -> dict[str, Any]:
    _require_accounts()
    account = User.objects.filter(username=name).first()
    if account is None:
        raise Http404(f"There is no account {name!r:.80}.")
    accounts.change(account, change, teacher=request.user)
    return next(_account(one) for one in accounts.everyone() if one.account.pk == account.pk)


def _account(person: accounts.Person) -> dict[str, Any]:
    return {
        "name": person.account.username,
        "role": "teacher" if person.account.is_staff else "student",
        "is_enabled": person.account.is_active,
        "last_login": person.account.last_login,
        "waiting": person.waiting,
        "running": person.running,
    }


def _require_accounts() -> None:
    if not LAB.lab_accounts:
        raise Http404("This console has no accounts. To use them, set DOORBUSTER_LAB_ACCOUNTS=1.")
