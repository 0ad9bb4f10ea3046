"""The answers to refused calls, and the check of query parameters."""

from typing import Any, TypeVar

from django.http import HttpResponse, JsonResponse, QueryDict

from common.http_api import CallError, Query, checked

_Query = TypeVar("_Query", bound=Query)


def refusal(status: int, error: str, **more: Any) -> HttpResponse:
    """Return an answer with this status, the field `error` and the fields in `more`."""
    return JsonResponse({"error": error, **more}, status=status)


def answer_of(error: CallError) -> HttpResponse:
    """Return the answer to a call that this error refuses."""
    return JsonResponse(error.answer, status=error.status)


def single(given: QueryDict, form: type[_Query]) -> _Query:
    """Return the query as a `form`. Raises CallError if a parameter is wrong or repeated."""
    for name, values in given.lists():
        if len(values) > 1:
            raise CallError(f"{name}: is given more than once", name, "exactly one value")
    return checked(form, given.dict())
