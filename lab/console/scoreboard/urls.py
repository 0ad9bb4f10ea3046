"""Address of the scoreboard."""

from django.urls import path

from lab.console.scoreboard import views

urlpatterns = [
    path("scoreboard/", views.scoreboard, name="scoreboard"),
]
