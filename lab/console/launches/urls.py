"""Addresses of the queue, of each launch, of the upload of a spec, and of *Run it again*."""

from django.urls import path

from lab.console.launches import views

urlpatterns = [
    path("upload/", views.upload, name="upload"),
    path("results/<str:name>/again", views.again, name="result-again"),
    path("launches/", views.queue, name="queue"),
    path("launches/table", views.table, name="queue-table"),
    path("launches/<str:pk>/", views.one, name="launch-page"),
    path("launches/<str:pk>/state", views.state, name="launch-state"),
    path("launches/<str:pk>/result", views.result, name="launch-result"),
    path("launches/<str:pk>/cancel", views.cancel, name="launch-cancel"),
    path("launches/<str:pk>/first", views.first, name="launch-first"),
]
