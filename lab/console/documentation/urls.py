"""Addresses of the documentation site."""

from django.urls import path

from lab.console.documentation import views

urlpatterns = [
    path("docs/terms.json", views.terms, name="terms"),
    path("docs/", views.documentation, name="documentation"),
    path("docs/labs/instructor.html", views.for_teachers, {"file": "labs/instructor.html"}),
    path("docs/teaching/exam.html", views.for_teachers, {"file": "teaching/exam.html"}),
    path("docs/<path:file>", views.documentation, name="documentation-page"),
]
