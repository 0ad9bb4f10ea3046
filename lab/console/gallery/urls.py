"""Addresses of the gallery."""

from django.urls import path

from lab.console.gallery import views

urlpatterns = [
    path("", views.gallery, name="gallery"),
]
