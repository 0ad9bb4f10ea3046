"""Addresses for programs: the health check and the metrics."""

from django.urls import path

from lab.console.server import views

urlpatterns = [
    path("health", views.health, name="health"),
    path("metrics", views.metrics, name="metrics"),
]
