"""Tokens for programs. A program that sends a token has the present permissions of the person who
made the token. A token is shown once and stored as a digest."""

import secrets
from datetime import timedelta
from typing import Final

from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin

from lab.console.models import Token
from lab.console.site.calls import is_call, is_from_a_page, no_credentials
from lab.console.site.sessions import digest_of
from lab.console.site.settings import LAB

MOST_TOKENS: Final = 20
"""The maximum number of tokens that one person can have."""
_BEGIN: Final = "doorbuster_"
"""The first characters of each token, by which a person or a scanner recognises a token."""
_NOTED_EVERY: Final = timedelta(minutes=1)
_INVALID: Final = (
    "The token is invalid. It may have been revoked, or its account may be disabled. Make a new "
    "token on the console's page /tokens/."
)


class TokenError(ValueError):
    """The error raised if a token cannot be created; its text is one line."""


def make(account: User, name: str) -> str:
    """Create a token with this name and return it. The database stores only its digest. Raises
    TokenError if the name is invalid or already used, or if the person has MOST_TOKENS."""
    name = " ".join(name.split())
    longest = Token.NAME_LENGTH
    if not 0 < len(name) <= longest or not name.isprintable():
        raise TokenError(f"name: {name!r:.80}; allowed: 1 to {longest} characters in one line")
    key = _BEGIN + secrets.token_urlsafe(32)
    with transaction.atomic():
        own = Token.objects.filter(person=account)
        if own.filter(name=name).exists():
            raise TokenError(f"name: you already have a token {name}; allowed: another name")
        if own.count() >= MOST_TOKENS:
            raise TokenError(
                f"You have {MOST_TOKENS} tokens; allowed: at most {MOST_TOKENS}. Revoke one first."
            )
        Token.objects.create(person=account, name=name, digest=digest_of(key))
    return key


def account_of(authorization: str) -> User | None:
    """Return the account of the token in this header `Authorization`, and record the use of the
    token; None if the token is invalid."""
    scheme, _, key = authorization.partition(" ")
    if scheme.lower() != "bearer":
        return None
    kept = Token.objects.select_related("person").filter(digest=digest_of(key.strip())).first()
    if kept is None or not kept.person.is_active:
        return None
    now = timezone.now()
    if kept.used_at is None or now - kept.used_at > _NOTED_EVERY:
        Token.objects.filter(pk=kept.pk).update(used_at=now)
    return kept.person


class TokenMiddleware(MiddlewareMixin):
    """The middleware that identifies the caller by the call's token.

    A web page cannot forge a call with a token, because a browser adds no token by itself. If the
    console has no accounts, programs need no token. Any other call needs a CSRF token, like a form.
    """

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        """Return None if the request can continue, or an answer that refuses an invalid token."""
        if not is_call(request.path):
            return None
        authorization = request.headers.get("Authorization")
        if LAB.lab_accounts and authorization is not None:
            account = account_of(authorization)
            if account is None:
                return no_credentials(_INVALID)
            request.user = account
            _trust(request)
        elif not LAB.lab_accounts and not is_from_a_page(request):
            _trust(request)
        return None


def _trust(request: HttpRequest) -> None:
    vars(request)["_dont_enforce_csrf_checks"] = True  # Django's name
