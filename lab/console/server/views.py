"""Pages for programs: the health check and the metrics for Prometheus."""

from functools import cache

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path

from lab.console.server.metrics import CONTENT_TYPE, LabMetrics
from lab.console.site.permissions import everybody
from lab.console.site.settings import LAB


@everybody.get
def health(request: HttpRequest) -> HttpResponse:
    """Answer the health check of the program that started this server."""
    return JsonResponse({"status": "ok"})


@everybody.get
def metrics(request: HttpRequest) -> HttpResponse:
    """Return metrics of experiments. Every visitor can read them, because Prometheus has no
    account, so they contain no personal data."""
    return HttpResponse(_metrics().text(), content_type=CONTENT_TYPE)


@cache
def _metrics() -> LabMetrics:
    from lab.console.launches import workers
    from lab.console.watch.live_run import watch

    return LabMetrics(LAB, lambda: watch.viewers, workers.online, workers.queued_tasks)


urlpatterns = [
    path("health", health, name="health"),
    path("metrics", metrics, name="metrics"),
]
