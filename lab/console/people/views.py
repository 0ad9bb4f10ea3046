"""Logging in and out, a person's own password, and the teacher's page of all accounts."""

import logging
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView, LogoutView, PasswordChangeView
from django.core.exceptions import PermissionDenied
from django.forms import BaseForm
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse_lazy
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django.views.generic import FormView

from lab.console.people import accounts
from lab.console.people.accounts import AccountError
from lab.console.people.logins import ChangeForm, LoginForm, TooManyError, address_of
from lab.console.site.permissions import everybody, students, teachers
from lab.console.site.settings import LAB, OIDC

logger = logging.getLogger("lab.people")


if TYPE_CHECKING:
    _Form = FormView[BaseForm]
else:
    _Form = FormView  # Django's own class takes no parameters


class _Counted(_Form):
    """A page that tries a password; after some wrong ones the answer is 429 with Retry-After."""

    def post(self, request: HttpRequest, *args: Any, **more: Any) -> HttpResponse:
        try:
            return super().post(request, *args, **more)
        except TooManyError as fault:
            where = address_of(request)
            logger.warning("%s refused a password from %s: %s", request.path, where, fault)
            unsent = {**self.get_form_kwargs(), "data": None, "files": None}
            form = self.get_form_class()(**unsent)
            response = self.render_to_response(
                self.get_context_data(form=form, refused=fault),
                status=429,
            )
            response["Retry-After"] = str(fault.wait_s)
            return response


class Login(_Counted, LoginView):
    """Ask for name and password."""

    template_name = "console/login.html"
    form_class = LoginForm
    extra_context = {"provider": OIDC and OIDC.name}  # noqa: RUF012 - as its parent has it
    redirect_authenticated_user = True


class Logout(LogoutView):
    next_page = "login"


class Password(_Counted, PasswordChangeView):
    """Change a person's own password."""

    template_name = "console/password.html"
    form_class = ChangeForm
    success_url = reverse_lazy("gallery")

    def dispatch(self, request: HttpRequest, *args: Any, **more: Any) -> HttpResponseBase:
        if request.user.is_authenticated and not request.user.has_usable_password():
            raise PermissionDenied("You have no password here: you sign in elsewhere.")
        return super().dispatch(request, *args, **more)

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "request": self.request}

    def form_valid(self, form: Any) -> HttpResponse:
        """End all sessions of the account; this one gets another key."""
        accounts.end_sessions(form.user)
        response = super().form_valid(form)
        messages.success(self.request, "Your password is changed.")
        logger.info("%s changed their own password", form.user)
        return response


login = everybody(Login.as_view())
logout = students(Logout.as_view())
password = students(Password.as_view())

SAID = {
    "disable": "{} is disabled and logged out. The launches of {} are cancelled.",
    "enable": "{} may log in again.",
    "teacher": "{} is a teacher now.",
    "student": "{} is a student now.",
    "delete": "{} is deleted. Results and notes of {} stay.",
}
"""The report of a page after a change that leads to another page."""


@teachers
@require_http_methods(["GET", "POST"])
def everyone(request: HttpRequest) -> HttpResponse:
    """Show all accounts; make accounts for students from an uploaded list of names."""
    _require_accounts()
    context: dict[str, object] = {}
    if request.method == "POST":
        try:
            made, existing = accounts.make_students(_sent_names(request))
        except AccountError as fault:
            context = {"fault": str(fault), "names": request.POST.get("names", "")}
        else:
            logger.info("%s made %d students: %s", request.user, len(made), _words(made))
            context = {"made": made, "existing": existing}
    context["people"] = accounts.everyone()
    status = 400 if "fault" in context else 200
    return _unkept(render(request, "console/people.html", context, status=status))


@teachers
@require_GET
def person(request: HttpRequest, pk: int) -> HttpResponse:
    """Show one account, and the changes that a teacher may apply to it."""
    _require_accounts()
    return _person(request, get_object_or_404(User, pk=pk))


@teachers
@require_POST
def change(request: HttpRequest, pk: int, change: str) -> HttpResponse:
    """Apply one of `accounts.CHANGES` to the account of another person."""
    _require_accounts()
    account = get_object_or_404(User, pk=pk)
    action = accounts.CHANGES.get(change)
    if action is None:
        raise Http404
    if account == request.user:
        return _refused(
            request, account, "This is your own account; only another teacher can change it."
        )
    if change == "delete" and "sure" not in request.POST:
        return _refused(request, account, f"Tick the box first if you want to delete {account}.")
    try:
        result = action(account)
    except AccountError as fault:
        return _refused(request, account, str(fault))
    logger.info("%s changed the account %s: %s", request.user, account, change)
    if change == "password":
        return _person(request, account, password=result)
    messages.success(request, SAID[change].format(account, account))
    return redirect("people") if change == "delete" else redirect("person", account.pk)


def _refused(request: HttpRequest, account: User, reason: str) -> HttpResponse:
    return _person(request, account, status=400, fault=reason)


def _person(request: HttpRequest, account: User, status: int = 200, **more: object) -> HttpResponse:
    context = {
        "account": account,
        "is_self": account == request.user,
        "provider": OIDC.name if OIDC else "a provider that is switched off",
        "unfinished": accounts.unfinished(account),
        **more,
    }
    return _unkept(render(request, "console/person.html", context, status=status))


def _unkept(response: HttpResponse) -> HttpResponse:
    """Forbid browsers to keep a page that shows a password once."""
    response["Cache-Control"] = "no-store"
    return response


def _sent_names(request: HttpRequest) -> list[str]:
    """Return the names of the uploaded file, or those in the text field without a file."""
    sent = request.FILES.get("file")
    if sent is None:
        text = request.POST.get("names", "")
        return accounts.names_in(accounts.decoded(text.encode(), "names"), "names")
    content = sent.read(accounts.MOST_LIST_BYTES + 1)
    return accounts.names_in(accounts.decoded(content, "file"), "file")


def _words(made: list[tuple[str, str]]) -> str:
    return ", ".join(name for name, _ in made)


def _require_accounts() -> None:
    if not LAB.lab_accounts:
        raise Http404
