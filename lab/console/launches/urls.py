"""Addresses of the launch form, the queue and each launch."""

from django.urls import path

from lab.console.launches import views

urlpatterns = [
    path("launch/<str:name>/", views.launch, name="launch"),
    path("launch/<str:name>/predict", views.predict, name="predict"),
    path("launch/<str:name>/spec.toml", views.spec_file, name="spec-file"),
    path("upload/", views.upload, name="upload"),
    path("launches/", views.queue, name="queue"),
    path("launches/table", views.table, name="queue-table"),
    path("launches/<str:pk>/", views.one, name="launch-page"),
    path("launches/<str:pk>/state", views.state, name="launch-state"),
    path("launches/<str:pk>/cancel", views.cancel, name="launch-cancel"),
    path("launches/<str:pk>/first", views.first, name="launch-first"),
]
