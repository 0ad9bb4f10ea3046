"""The page of a person's tokens, and the OpenAPI document of the console's API."""

import logging
from functools import cache
from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.views.decorators.http import require_safe

from common import http_api
from common.http_api import Api, Call
from lab.console.api import launch_calls, people_calls, result_calls, schemas
from lab.console.api.api import answering, api, patterns
from lab.console.models import Token
from lab.console.site import tokens
from lab.console.site.permissions import everybody, students
from lab.console.site.settings import LAB

CALLS: Final = (launch_calls, result_calls, people_calls)
"""The modules whose import adds calls to the API."""
_API: Final = Api(
    "Doorbuster lab console",
    "Launches, results, notes, the scoreboard and accounts.",
    token="a token from the page /tokens/; a console without accounts needs no token",
    refusals={},
)
_DESCRIPTION: Final = Call(
    "GET", "/api/openapi.json", "Show this description of the API", "application/json", is_open=True
)
_REASONS: Final = {
    "400": "a field is wrong",
    "401": "the token is missing or invalid",
    "403": "the person lacks a permission or has reached a limit",
    "404": "nothing has this name or id",
    "409": "the queue is full, or the person is not allowed to launch this now",
    "411": "the request does not state the size of its body",
    "413": "the body is too large",
    "415": "the type of the body is wrong",
    "422": "the result cannot be packed",
    "429": (
        "a rate limit is reached, or the console is busy with other files; Retry-After gives the "
        "waiting time in seconds, if it is known"
    ),
    "503": "the console cannot read or write its disk",
}


@cache
def openapi_document() -> dict[str, Any]:
    managed = api.get_openapi_schema(path_prefix="api/")
    whole = http_api.document(_API, (_DESCRIPTION,))
    for address, methods in managed["paths"].items():
        for operation in methods.values():
            operation["summary"] = " ".join(operation.pop("description").split())[:-1]
            operation["security"] = [{}, {"token": []}]
            operation["responses"] = {
                str(status): answer | {"description": _REASONS.get(str(status), "done")}
                for status, answer in operation["responses"].items()
            }
        whole["paths"][address] = methods
    for kind, entries in managed["components"].items():
        whole["components"].setdefault(kind, {}).update(entries)
    for form in (schemas.LaunchesQuery, schemas.ResultsQuery):  # their fields are parameters
        whole["components"]["schemas"].pop(form.__name__, None)
    return whole


logger = logging.getLogger("lab.people")


@students.get_or_post
def own_tokens(request: HttpRequest) -> HttpResponse:
    """Show this person's tokens, or create a token and show it once."""
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


@students.post
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    assert isinstance(request.user, User) or not LAB.lab_accounts
    owner = request.user.pk if LAB.lab_accounts else None
    token = get_object_or_404(Token, pk=pk, person=owner)
    token.delete()
    logger.info("%s revoked a token", request.user)
    messages.success(request, f"The token {token.name} is revoked. No program can use it any more.")
    return redirect("tokens")


@everybody
@answering
@require_safe
def description(request: HttpRequest) -> HttpResponse:
    return JsonResponse(openapi_document())


urlpatterns = [
    path("tokens/", own_tokens, name="tokens"),
    path("tokens/<int:pk>/revoke", revoke, name="token-revoke"),
    path("api/openapi.json", description, name="api-description"),
    *patterns(),
]
