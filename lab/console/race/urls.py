"""Addresses of the race page."""

from django.urls import path

from lab.console.race import views

urlpatterns = [
    path("race/", views.race, name="race"),
    path("race/lanes/<str:name>/<str:run>.json", views.run_frames, name="race-frames"),
    path("race/waiting/<str:pk>/", views.waiting, name="race-waiting"),
]
