"""Addresses of the results: the shelf, one result, what is taken from it.

Owns: everything under `/results/`. Must not know: what stands there.
"""

from django.urls import path

from lab.console.views import curves, downloads, explorer, results

urlpatterns = [
    path("", results.shelf, name="results"),
    path("import", results.bring, name="results-import"),
    path("overlay", curves.overlay, name="overlay"),
    path("<str:name>/", results.one, name="result"),
    path("<str:name>/curves.json", curves.numbers, name="result-curves"),
    path("<str:name>/sessions", curves.sessions, name="result-sessions"),
    path("<str:name>/attempts", explorer.attempts, name="attempts"),
    path("<str:name>/why", explorer.why, name="why"),
    path("<str:name>/again", results.again, name="result-again"),
    path("<str:name>/note", results.note, name="result-note"),
    path("<str:name>/delete", results.delete, name="result-delete"),
    path("<str:name>/bundle.zip", downloads.bundle, name="result-bundle"),
    path("<str:name>/page.html", downloads.page, name="result-page"),
    path("<str:name>/table/<int:number>.csv", downloads.table, name="result-table"),
    path("<str:name>/runs/<str:run>/<str:log>.csv", downloads.log, name="run-csv"),
    path("<str:name>/files/<path:file>", results.file, name="result-file"),
]
