"""Refusals as answers, and the query of a request."""

from typing import Any, TypeVar

from django.http import HttpResponse, JsonResponse, QueryDict

from common.http_api import CallError, Query, checked

_Query = TypeVar("_Query", bound=Query)


def refusal(status: int, error: str, **more: Any) -> HttpResponse:
    """Return an answer with the reason why a call was not done."""
    return JsonResponse({"error": error, **more}, status=status)


def answer_of(error: CallError) -> HttpResponse:
    """Return the answer to a refused call."""
    return JsonResponse(error.answer, status=error.status)


def single(given: QueryDict, form: type[_Query]) -> _Query:
    """Return the parameters; raises CallError for one that is unknown, wrong or given twice."""
    for name, values in given.lists():
        if len(values) > 1:
            raise CallError(f"{name}: is given more than once", name, "one value")
    return checked(form, given.dict())
