"""Addresses of the playground."""

from django.urls import path

from lab.console.playground import views
from lab.playground import pyodide

urlpatterns = [
    path("playground/", views.playground, name="playground"),
    path("playground/policy/", views.policy, name="playground-policy"),
    path("playground/policy/modules.zip", views.policy_modules, name="playground-policy-modules"),
    path("playground/modules.zip", views.modules, name="playground-modules"),
    path(
        f"playground/pyodide-{pyodide.VERSION}/<str:name>",
        views.pyodide_file,
        name="playground-pyodide",
    ),
]
