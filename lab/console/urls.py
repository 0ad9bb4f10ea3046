"""The console's addresses."""

from django.urls import include, path

from lab.console.views import (
    figures,
    gallery,
    launches,
    leaderboard,
    people,
    race,
    scoreboard,
    streams,
    watch,
)

urlpatterns = [
    path("", gallery.gallery, name="gallery"),
    path("health", gallery.health, name="health"),
    path("metrics", figures.metrics, name="metrics"),
    path("launch/<str:name>/", gallery.launch, name="launch"),
    path("launch/<str:name>/predict", gallery.predict, name="predict"),
    path("launch/<str:name>/spec.toml", gallery.spec_file, name="spec-file"),
    path("upload/", gallery.upload, name="upload"),
    path("launches/", launches.queue, name="queue"),
    path("launches/table", launches.table, name="queue-table"),
    path("launches/<str:pk>/", launches.one, name="launch-page"),
    path("launches/<str:pk>/state", launches.state, name="launch-state"),
    path("launches/<str:pk>/cancel", launches.cancel, name="launch-cancel"),
    path("launches/<str:pk>/first", launches.first, name="launch-first"),
    path("watch/", watch.watch, name="watch"),
    path("watch/policy", watch.switch, name="watch-switch"),
    path("watch/policy/fields", watch.policy_fields, name="watch-policy-fields"),
    path("watch/shadow", watch.shadow, name="watch-shadow"),
    path("watch/shadow/fields", watch.shadow_fields, name="watch-shadow-fields"),
    path("watch/shadow/away", watch.shadow_away, name="watch-shadow-away"),
    path("watch/abandonment", watch.abandonment, name="watch-abandonment"),
    path("watch/load", watch.load, name="watch-load"),
    path("watch/stream", streams.stream, name="watch-stream"),
    path("scoreboard/", scoreboard.scoreboard, name="scoreboard"),
    path("race/", race.race, name="race"),
    path("race/lanes/<str:name>/<str:run>.json", race.lane, name="race-lane"),
    path("race/waiting/<str:pk>/", race.waiting, name="race-waiting"),
    path("leaderboard/", leaderboard.leaderboard, name="leaderboard"),
    path("people/login", people.Login.as_view(), name="login"),
    path("people/logout", people.Logout.as_view(), name="logout"),
    path("people/password", people.Password.as_view(), name="password"),
    path("results/", include("lab.console.result_urls")),
]
