"""Addresses of the result list, of one result and of its files."""

from django.urls import path

from lab.console.results import curve_views, download_views, explorer_views, views

urlpatterns = [
    path("results/", views.all_results, name="results"),
    path("results/import", views.bring, name="results-import"),
    path("results/overlay", curve_views.overlay, name="overlay"),
    path("results/<str:name>/", views.one, name="result"),
    path("results/<str:name>/curves.json", curve_views.numbers, name="result-curves"),
    path("results/<str:name>/sessions", curve_views.sessions, name="result-sessions"),
    path("results/<str:name>/attempts", explorer_views.attempts, name="attempts"),
    path("results/<str:name>/why", explorer_views.why, name="why"),
    path("results/<str:name>/note", views.note, name="result-note"),
    path("results/<str:name>/delete", views.delete, name="result-delete"),
    path("results/<str:name>/bundle.zip", download_views.bundle, name="result-bundle"),
    path("results/<str:name>/page.html", download_views.page, name="result-page"),
    path("results/<str:name>/table/<int:number>.csv", download_views.table, name="result-table"),
    path("results/<str:name>/<str:kind>.csv", download_views.metrics, name="result-metrics"),
    path("results/<str:name>/runs/<str:run>/<str:log>.csv", download_views.log, name="run-csv"),
    path("results/<str:name>/files/<path:file>", views.file, name="result-file"),
]
