"""The lab's metrics as an answer.

Owns: the one collector of this process. Must not know: what is in it.
"""

from functools import cache

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from lab.console.metrics import CONTENT_TYPE, LabMetrics
from lab.console.settings import LAB


@require_GET
def metrics(request: HttpRequest) -> HttpResponse:
    """For Prometheus, which has no account: names and numbers of experiments, nothing of people."""
    return HttpResponse(_metrics().text(), content_type=CONTENT_TYPE)


@cache
def _metrics() -> LabMetrics:
    from lab.console.asgi import watch

    return LabMetrics(LAB, lambda: watch.viewers)
