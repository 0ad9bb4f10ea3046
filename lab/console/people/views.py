"""Login and logout, the change of a person's password, and the teacher's page with all accounts."""

import logging
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView, LogoutView, PasswordChangeView
from django.core.exceptions import PermissionDenied
from django.forms import BaseForm
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse_lazy
from django.views.generic import FormView

from lab.console.people import accounts
from lab.console.people.accounts import AccountError
from lab.console.people.logins import ChangeForm, LoginForm, TooManyError, address_of
from lab.console.site.permissions import everybody, students, teachers
from lab.console.site.settings import LAB, OIDC

logger = logging.getLogger("lab.people")
View = Callable[..., HttpResponse]

if TYPE_CHECKING:
    _Form = FormView[BaseForm]
else:
    _Form = FormView  # Django's own class takes no parameters


class _Counted(_Form):
    """A page that checks a password. If the password cannot be checked now, the page answers with
    status 429 and the header Retry-After."""

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
    """Show the form for name and password, and log the person in."""

    template_name = "console/login.html"
    form_class = LoginForm
    extra_context = {"provider": OIDC and OIDC.name}  # noqa: RUF012 - as its parent has it
    redirect_authenticated_user = True


class Logout(LogoutView):
    next_page = "login"


class Password(_Counted, PasswordChangeView):
    """Change the password of the person who is logged in."""

    template_name = "console/password.html"
    form_class = ChangeForm
    success_url = reverse_lazy("gallery")

    def dispatch(self, request: HttpRequest, *args: Any, **more: Any) -> HttpResponseBase:
        if request.user.is_authenticated and not request.user.has_usable_password():
            raise PermissionDenied(
                "You have no password here, because you sign in with a provider."
            )
        return super().dispatch(request, *args, **more)

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "request": self.request}

    def form_valid(self, form: Any) -> HttpResponse:
        """End all other sessions of the account. The present session gets a new key."""
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
    "enable": "{} can log in again.",
    "teacher": "{} is a teacher now.",
    "student": "{} is a student now.",
    "delete": "{} is deleted. Results and notes of {} stay.",
}
"""The message that the next page shows after a change."""


def about_accounts(view: View) -> View:
    """Return a view that answers with status 404 if the lab has no accounts. Browsers do not cache
    the pages of the view, because some of them show a password once."""

    @wraps(view)
    def page(request: HttpRequest, **arguments: Any) -> HttpResponse:
        if not LAB.lab_accounts:
            raise Http404
        response = view(request, **arguments)
        response["Cache-Control"] = "no-store"
        return response

    return page


@teachers.get_or_post
@about_accounts
def everyone(request: HttpRequest) -> HttpResponse:
    """Show all accounts. Make accounts for students from an uploaded list of names. The names come
    from the file, or from the text field if there is no file."""
    context: dict[str, object] = {}
    if request.method == "POST":
        file, text = request.FILES.get("file"), request.POST.get("names", "")
        source = "names" if file is None else "file"
        sent = text.encode() if file is None else file.read(accounts.MOST_LIST_BYTES + 1)
        try:
            names = accounts.names_in(accounts.decoded(sent, source), source)
            made, existing = accounts.make_students(names, teacher=request.user)
        except AccountError as fault:
            context = {"fault": str(fault), "names": text}
        else:
            context = {"made": made, "existing": existing}
    context["people"] = accounts.everyone()
    return render(
        request, "console/people.html", context, status=400 if "fault" in context else 200
    )


@teachers.get
@about_accounts
def person(request: HttpRequest, pk: int) -> HttpResponse:
    """Show one account, and the changes that a teacher can apply to it."""
    return account_page(request, get_object_or_404(User, pk=pk))


@teachers.post
@about_accounts
def change(request: HttpRequest, pk: int, change: str) -> HttpResponse:
    """Apply one of `accounts.CHANGES` to the account of another person."""
    account = get_object_or_404(User, pk=pk)
    if change not in accounts.CHANGES:
        raise Http404
    try:
        if change == "delete" and "sure" not in request.POST:
            raise AccountError(f"Tick the box first if you want to delete {account}.")
        result = accounts.change(account, change, teacher=request.user)
    except AccountError as fault:
        return account_page(request, account, fault=str(fault))
    if change == "password":
        return account_page(request, account, password=result)
    messages.success(request, SAID[change].format(account, account))
    return redirect("people") if change == "delete" else redirect("person", account.pk)


def account_page(
    request: HttpRequest, account: User, *, fault: str = "", password: object = ""
) -> HttpResponse:
    """Show an account, with the error or the new password after a change."""
    context = {
        "account": account,
        "is_self": account == request.user,
        "provider": OIDC.name if OIDC else "a sign-in provider that is switched off",
        "unfinished": accounts.unfinished(account),
        "fault": fault,
        "password": password,
    }
    return render(request, "console/person.html", context, status=400 if fault else 200)


urlpatterns = [
    path("people/", everyone, name="people"),
    path("people/<int:pk>/", person, name="person"),
    path("people/<int:pk>/<str:change>", change, name="person-change"),
    path("people/login", login, name="login"),
    path("people/logout", logout, name="logout"),
    path("people/password", password, name="password"),
]
if OIDC is not None:
    from lab.console.people.oidc import flow

    urlpatterns += [
        path("people/sign-in", flow.begin, name="sign-in"),
        path("people/sign-in/done", flow.done, name="sign-in-done"),
    ]
