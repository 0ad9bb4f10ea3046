"""Addresses of the scoreboard."""

from django.urls import path

from lab.console.scoreboard import submissions, views

urlpatterns = [
    path("scoreboard/", views.scoreboard, name="scoreboard"),
    path("scoreboard/submissions", submissions.own, name="submissions"),
]
