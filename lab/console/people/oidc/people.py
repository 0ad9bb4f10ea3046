"""The accounts of people who sign in with the provider."""

import logging
import re
from typing import Any

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from lab.console.people import accounts, logins
from lab.console.site.settings import OIDC

logger = logging.getLogger("lab.people")


def refused(request: HttpRequest, reason: str, status: int = 403) -> HttpResponse:
    """Return the page that explains a failed sign-in."""
    context = {"reason": reason, "provider": OIDC.name if OIDC else ""}
    response = render(request, "console/sign_in_refused.html", context, status=status)
    response["Cache-Control"] = "no-store"
    return response


class Adapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # allauth has no types
    """The decisions that allauth leaves to the application at each sign-in."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        return True

    def is_auto_signup_allowed(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        return True

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Refuse the sign-in to a disabled account. Make the person a teacher if
        DOORBUSTER_LAB_OIDC_TEACHERS has their verified e-mail address."""
        if not sociallogin.is_existing:
            return
        if not sociallogin.user.is_active:
            raise ImmediateHttpResponse(
                refused(request, f"The account {sociallogin.user} is disabled. Ask your teacher.")
            )
        if _is_teacher(sociallogin) and not sociallogin.user.is_staff:
            accounts.make_teacher(sociallogin.user)
            logger.info("%s is a teacher by DOORBUSTER_LAB_OIDC_TEACHERS", sociallogin.user)

    def save_user(self, request: HttpRequest, sociallogin: SocialLogin, form: Any = None) -> User:
        """Create the account at a person's first sign-in, with a name that is free."""
        user: User = sociallogin.user
        user.set_unusable_password()
        user.is_staff = _is_teacher(sociallogin)
        user.is_active, user.is_superuser = True, False
        claims = sociallogin.account.extra_data["userinfo"]
        with transaction.atomic():
            user.username = _free(
                str(claims.get("preferred_username") or claims.get("email") or "")
            )
            sociallogin.save(request)
        logger.info(
            "%s signed in for the first time; role of the new account: %s",
            user,
            "teacher" if user.is_staff else "student",
        )
        return user

    def on_authentication_error(
        self, request: HttpRequest, provider: Any, error: Any = None, exception: Any = None,
        extra_context: Any = None,
    ) -> None:  # fmt: skip
        """Answer with the console's page for a failed sign-in, and write the cause to the log."""
        logger.warning("a sign-in failed: %s %.200r", error, exception)
        raise ImmediateHttpResponse(
            refused(request, "The sign-in was not completed or took too long. Please try again.")
        )


def _is_teacher(sociallogin: SocialLogin) -> bool:
    teachers = OIDC.teachers if OIDC else frozenset()
    verified = {one.email.lower() for one in sociallogin.email_addresses if one.verified is True}
    return not teachers.isdisjoint(verified)


def _free(wanted: str) -> str:
    """Return the wanted name, or a changed name if an existing account has a similar name."""
    stem = re.sub(r"[^\w.@+-]+", "-", logins.normal_name(wanted)).strip("-")[:140] or "person"
    name, number = stem, 1
    while logins.alike(name) is not None:
        number += 1
        name = f"{stem}-{number}"
    accounts.check_name(name)
    return name
