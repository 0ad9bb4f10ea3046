"""Address of the page of limits."""

from django.urls import path

from lab.console.limits import views

urlpatterns = [
    path("limits/", views.limits, name="limits"),
]
