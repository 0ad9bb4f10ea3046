"""The decorators of the API's calls, and the JSON answer to every refused call."""

import re
from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeVar

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.urls import URLPattern, path
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationErrorContext
from ninja.parser import Parser

from common.http_api import CallError, Refusal, first_fault, one_line
from lab.console.launches.queue import QueueError
from lab.console.people.accounts import AccountError
from lab.console.site.allowances import AllowanceError
from lab.console.site.calls import refusal
from lab.console.site.permissions import Permission
from lab.console.site.rates import TooOftenError
from lab.errors import ExperimentError, Fault, FaultError

TOML = "application/toml"
_BEGIN = "api/"
_permissions: dict[str, Permission] = {}
_Operation = TypeVar("_Operation", bound=Callable[..., Any])


class _Parser(Parser):
    """The parser of request bodies. A body is JSON, or a launch's spec in TOML."""

    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        if request.content_type == TOML:
            return {"toml": request.body.decode("utf-8")}
        return super().parse_body(request)


class _Api(NinjaAPI):
    def validation_error_from_error_contexts(  # type: ignore[override]
        self, error_contexts: list[ValidationErrorContext[Any]]
    ) -> CallError:
        return first_fault(error_contexts)


api = _Api(urls_namespace="console-api", openapi_url=None, docs_url=None, parser=_Parser())


def call(
    method: Literal["GET", "POST"],
    path: str,
    permission: Permission,
    answers: Any = None,
    *refusals: int,
    status: int = 200,
    **more: Any,
) -> Callable[[_Operation], _Operation]:
    """Return a decorator that turns a function into an API call. The function's docstring becomes
    the description of the call. All calls at the same path have the same permission. Every call may
    return 401, and a POST may also return 400, 403 and 429; `refusals` are further error statuses
    of the call."""
    assert _permissions.setdefault(path, permission) is permission, path
    usual = (401,) if method == "GET" else (400, 401, 403, 429)
    answered = {status: answers} | dict.fromkeys(sorted({*usual, *refusals}), Refusal)
    return api.api_operation([method], path, response=answered, **more)


def patterns() -> Iterator[URLPattern]:
    """Yield the addresses of all calls, each with its permission."""
    routes = {re.sub(r"{(\w+)}", r"<\1>", one): rule for one, rule in _permissions.items()}
    for pattern in api.urls[0]:
        route = str(pattern.pattern)
        if route in routes and pattern.callback:  # the library also adds its own page
            yield path(_BEGIN + route, routes[route](answering(pattern.callback)))


def answering(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Return a view that answers with JSON even if another part of the console refuses the call."""

    def in_json(request: HttpRequest, **arguments: Any) -> HttpResponseBase:
        answer = view(request, **arguments)
        is_json = answer.headers.get("Content-Type", "").startswith("application/json")
        if answer.status_code >= 400 and not is_json:
            assert isinstance(answer, HttpResponse)
            answer = _as_json(request, answer)
        answer.headers["Cache-Control"] = "no-store"  # some answers have passwords
        return answer

    return in_json


def _as_json(request: HttpRequest, answer: HttpResponse) -> HttpResponse:
    if answer.status_code == 405:
        methods = answer.headers["Allow"]
        return refusal(405, f"This call does not allow {request.method}.", allowed=methods)
    wait_s = answer.headers.get("Retry-After")
    words = one_line(answer.content.decode().strip())
    return refusal(answer.status_code, words, wait_s=None if wait_s is None else int(wait_s))


# ---- refusals ------------------------------------------------------------------------------------


def explained(error: object, status: int = 400, *, wait_s: int | None = None) -> HttpResponse:
    """Return the refusal for an error. It has the field and the allowed values of the error's first
    fault."""
    fault = error.faults[0] if isinstance(error, FaultError) else Fault((), "")
    return refusal(
        status,
        one_line(" ".join(filter(None, str(error).splitlines()))),
        field=one_line(fault.field) or None,
        allowed=one_line(fault.allowed) or None,
        wait_s=wait_s,
    )


def _refused(request: HttpRequest, error: Exception | type[Exception]) -> HttpResponse:
    match error:
        case CallError():
            return refusal(error.status, str(error), field=error.field, allowed=error.allowed)
        case TooOftenError():
            return explained(error, 429, wait_s=error.wait_s)
        case AllowanceError():
            return explained(error, 403)
        case QueueError():
            return explained(error, 409)
        case PermissionDenied():
            return refusal(403, str(error))
        case Http404():
            return refusal(404, str(error) or "No entry has this name or id.")
        case RequestDataTooBig():
            return refusal(413, "body: is too large", field="body", allowed="at most 1 MiB")
        case HttpError(status_code=400):  # the body cannot be read
            return refusal(400, "body: is not JSON", field="body", allowed="a JSON object")
        case HttpError():
            return refusal(error.status_code, str(error))
    return explained(error)


for _kind in (
    *(CallError, QueueError, AccountError, ExperimentError),
    *(PermissionDenied, Http404, RequestDataTooBig, HttpError),
):
    api.add_exception_handler(_kind, _refused)
