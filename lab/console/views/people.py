"""Logging in and out, and one's own password.

Owns: these pages. Must not know: who may do what (`lab.console.people`).
"""

from django.contrib.auth.views import LoginView, LogoutView, PasswordChangeView
from django.http import HttpRequest, HttpResponse
from django.urls import reverse_lazy

from lab.console.limits import LOGINS


class Login(LoginView):
    """Name and password; after some wrong ones one has to wait."""

    template_name = "console/login.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: object, **more: object) -> HttpResponse:
        wait_s = LOGINS.wait_s(self._key())
        if wait_s:
            form = self.get_form_class()(request)
            response = self.render_to_response(
                self.get_context_data(form=form, wait_s=wait_s), status=429
            )
            response["Retry-After"] = str(wait_s)
            return response
        return super().post(request, *args, **more)

    def form_invalid(self, form: object) -> HttpResponse:
        LOGINS.note(self._key())
        return super().form_invalid(form)

    def _key(self) -> str:
        """One address may not try one name after the other's limit, nor lock out the others."""
        name = self.request.POST.get("username", "")[:150].casefold()
        return f"{self.request.META.get('REMOTE_ADDR', '')} {name}"


class Logout(LogoutView):
    next_page = reverse_lazy("login")


class Password(PasswordChangeView):
    template_name = "console/password.html"
    success_url = reverse_lazy("gallery")
