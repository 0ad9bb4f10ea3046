"""Addresses of the scoreboard."""

from django.urls import path

from lab.console.scoreboard import submission_views, views

urlpatterns = [
    path("scoreboard/", views.scoreboard, name="scoreboard"),
    path("scoreboard/submissions", submission_views.own, name="submissions"),
]
