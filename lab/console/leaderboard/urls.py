"""Address of the leaderboard."""

from django.urls import path

from lab.console.leaderboard import views

urlpatterns = [
    path("leaderboard/", views.leaderboard, name="leaderboard"),
]
