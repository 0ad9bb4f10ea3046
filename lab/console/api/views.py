"""The page on which a person creates and revokes tokens, and the OpenAPI document."""

import logging

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from lab.console.api import openapi
from lab.console.models import Token
from lab.console.site import tokens
from lab.console.site.calls import refusal
from lab.console.site.permissions import everybody, students
from lab.console.site.settings import LAB

logger = logging.getLogger("lab.people")


@students
@require_http_methods(["GET", "POST"])
def own_tokens(request: HttpRequest) -> HttpResponse:
    """Show this person's tokens; or create a token and show it once, in the answer."""
    context: dict[str, object] = {"has_accounts": LAB.lab_accounts}
    if LAB.lab_accounts:
        assert isinstance(request.user, User)
        if request.method == "POST":
            name = request.POST.get("name", "")
            try:
                context["made"] = tokens.make(request.user, name)
                logger.info("%s made a token", request.user)
            except tokens.TokenError as fault:
                context |= {"fault": str(fault), "name": name}
        context["tokens"] = Token.objects.filter(person=request.user)
    context |= {"longest": Token.NAME_LENGTH, "most": tokens.MOST_TOKENS}
    status = 400 if "fault" in context else 200
    answer = render(request, "console/tokens.html", context, status=status)
    answer.headers["Cache-Control"] = "no-store"
    return answer


@students
@require_POST
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    """Revoke a token of this person."""
    assert isinstance(request.user, User) or not LAB.lab_accounts
    owner = request.user.pk if LAB.lab_accounts else None
    token = get_object_or_404(Token, pk=pk, person=owner)
    token.delete()
    logger.info("%s revoked a token", request.user)
    messages.success(request, f"The token {token.name} is revoked: no program can use it.")
    return redirect("tokens")


@everybody
@require_GET
def description(request: HttpRequest) -> HttpResponse:
    """Return the OpenAPI document."""
    return JsonResponse(openapi.document())


@everybody
def unknown(request: HttpRequest, call: str) -> HttpResponse:
    """Return the error for a call to an address that the API does not have."""
    return refusal(404, "The API has no such call; /api/openapi.json describes all calls.")
