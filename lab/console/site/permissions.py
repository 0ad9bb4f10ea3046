"""The permissions of the console's views. Every view has a permission as its decorator, from this
module or from the page's folder.

Without accounts (the default), all people are teachers. The console then listens only on the inner
host, which is loopback by default, or on another loopback address (`Settings.lab_host`). With
accounts, `AccountsMiddleware` checks the view's permission before each request. A view without a
permission refuses every request.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from django.contrib.auth import aget_user
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from lab.console.models import Launch
from lab.console.site import rates
from lab.console.site.allowances import STUDENT, TEACHER, Allowance
from lab.console.site.calls import is_call, no_credentials
from lab.console.site.sessions import SessionStore
from lab.console.site.settings import LAB
from lab.errors import Fault

View = TypeVar("View", bound=Callable[..., Any])
Rule = Callable[[HttpRequest, Mapping[str, Any]], str]
"""A function that returns why a student must not call a view with these arguments; empty if
the call is allowed."""


def _allowed(request: HttpRequest, arguments: Mapping[str, Any]) -> str:
    return ""


def _only_teachers(reason: str) -> Rule:
    return lambda request, arguments: reason


def _for_who_launched(request: HttpRequest, arguments: Mapping[str, Any]) -> str:
    if owns(request, Launch.objects.filter(**arguments).first()):
        return ""
    return "Only a teacher or the person who launched this experiment can cancel the launch."


@dataclass(frozen=True, slots=True)
class Permission:
    """A decorator for views, which defines what a student is allowed to read and send. A teacher is
    allowed to do everything."""

    reads: Rule = _allowed
    """The rule for GET and HEAD."""
    sends: Rule = _allowed
    """The rule for all other methods."""
    needs_login: bool = True

    def __call__(self, view: View) -> View:
        """Mark the view with this permission."""
        vars(view)["permission"] = self
        return view

    def get(self, view: View) -> View:
        """Mark a view that answers only GET."""
        return self(require_safe(view))

    def post(self, view: View) -> View:
        """Mark a view that answers only POST."""
        return self(require_POST(view))

    def get_or_post(self, view: View) -> View:
        """Mark a view that answers only GET and POST."""
        return self(require_http_methods(["GET", "POST"])(view))

    def check(self, request: HttpRequest, arguments: Mapping[str, Any]) -> None:
        """Raise PermissionDenied with the reason if the person may not send the request."""
        if is_teacher(request):
            return
        rule = self.reads if request.method in ("GET", "HEAD") else self.sends
        if reason := rule(request, arguments):
            raise PermissionDenied(reason)


everybody = Permission(needs_login=False)
"""The permission for all people to read and to send, even without a login."""
students = Permission()
"""The permission for students and teachers to read and to send."""
readers = Permission(sends=_only_teachers("Only a teacher is allowed to do this."))
"""The permission for students and teachers to read, and for teachers to send."""
_accounts_only_teachers = _only_teachers("Only a teacher can see and change accounts.")
teachers = Permission(reads=_accounts_only_teachers, sends=_accounts_only_teachers)
"""The permission for teachers to read and to send, for the pages about accounts."""
answers = Permission(
    reads=_only_teachers("This page has answers to lab sheets. Only a teacher can see it.")
)
"""The permission for teachers to read, for the pages with answers to lab sheets."""
launch_owners = Permission(sends=_for_who_launched)
"""The permission for a launch. Students and teachers can read. Teachers and the person who launched
it can send."""


class AccountsMiddleware(MiddlewareMixin):
    """The middleware for consoles with accounts. It checks each request against the permission of
    the request's view."""

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: Any, more: dict[str, Any]
    ) -> HttpResponse | None:
        """Return None to continue, or the answer to a person who must log in first. Raises
        PermissionDenied if the permission forbids the request or is missing."""
        permission: Permission | None = getattr(view, "permission", None)
        if permission is None:
            raise PermissionDenied("This page has no permission yet. Its view needs a decorator.")
        if not permission.needs_login:
            return None
        if not request.user.is_authenticated:
            if is_call(request.path):
                return no_credentials()
            if request.headers.get("HX-Request"):
                return HttpResponse(status=401, headers={"HX-Redirect": reverse("login")})
            return redirect_to_login(request.get_full_path())
        permission.check(request, more)
        return None


def is_teacher(request: HttpRequest) -> bool:
    """Return whether this person has all permissions."""
    return not LAB.lab_accounts or request.user.is_staff


def allowance_of(request: HttpRequest) -> Allowance:
    return TEACHER if is_teacher(request) else STUDENT


def allowance_of_account(account: User | None) -> Allowance | None:
    if account is None:
        return None
    return TEACHER if account.is_staff else STUDENT


def allowance_of_launch(launch: Launch) -> Allowance:
    """Return the allowance of the person who started this launch."""
    if not LAB.lab_accounts or not launch.by:  # without accounts, or started by the console
        return TEACHER
    is_staff = User.objects.filter(username=launch.by, is_staff=True).exists()
    return TEACHER if is_staff else STUDENT


def owns(request: HttpRequest, launch: Launch | None) -> bool:
    """Return whether the person started this launch or is a teacher."""
    if is_teacher(request):
        return True
    return launch is not None and launch.by == request.user.get_username()


def name_of(request: HttpRequest) -> str:
    """Return the person's name for notes and launches; empty if the console has no accounts."""
    return request.user.get_username() if LAB.lab_accounts else ""


async def is_logged_in(request: HttpRequest) -> bool:
    """Return whether the session of a stream still belongs to an enabled account."""
    if not LAB.lab_accounts:
        return True
    return await allowance_of_session(request.session.session_key) is not None


async def allowance_of_session(key: str | None) -> Allowance | None:
    """Return the allowance of the person who owns this session; None if the session has no enabled
    account."""
    request = HttpRequest()
    request.session = SessionStore(key)
    user = await aget_user(request)
    return allowance_of_account(user) if isinstance(user, User) else None


def key_of(request: HttpRequest) -> str:
    """Return the key under which the person's actions are counted."""
    return name_of(request) or str(request.META.get("REMOTE_ADDR", ""))


def spend(request: HttpRequest, limit: str) -> None:
    """Count one more use of a rate limit; raises TooOftenError if the limit is reached."""
    rates.spend(allowance_of(request), limit, key_of(request))


def refusal(request: HttpRequest, launch: Launch) -> Fault | None:
    """Return why this person is not allowed to start this launch now; None if the launch is
    allowed."""
    if is_teacher(request) or not (LAB.lab_classroom and launch.is_live):
        return None
    reason = "in classroom mode, only a teacher can run live experiments"
    return Fault(("engine",), reason, allowed="simulated")
