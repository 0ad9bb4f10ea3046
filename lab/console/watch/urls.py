"""Addresses of the watch page, its forms and its stream."""

from django.urls import path

from lab.console.watch import views

urlpatterns = [
    path("watch/", views.watch, name="watch"),
    path("watch/running", views.running, name="running"),
    path("watch/policy", views.switch, name="watch-switch"),
    path("watch/policy/fields", views.policy_fields, name="watch-policy-fields"),
    path("watch/shadow", views.shadow, name="watch-shadow"),
    path("watch/shadow/fields", views.shadow_fields, name="watch-shadow-fields"),
    path("watch/shadow/away", views.shadow_away, name="watch-shadow-away"),
    path("watch/abandonment", views.abandonment, name="watch-abandonment"),
    path("watch/load", views.load, name="watch-load"),
    path("watch/fault", views.fault, name="watch-fault"),
    path("watch/as-it-began", views.as_it_began, name="watch-as-it-began"),
    path("watch/stream", views.stream, name="watch-stream"),
]
