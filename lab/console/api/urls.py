"""Addresses of the page of tokens and of all API calls."""

from django.urls import path

from lab.console.api import views
from lab.console.api.api import patterns

urlpatterns = [
    path("tokens/", views.own_tokens, name="tokens"),
    path("tokens/<int:pk>/revoke", views.revoke, name="token-revoke"),
    path("api/openapi.json", views.description, name="api-description"),
    *patterns(),
    path("api/<path:call>", views.unknown, name="api-unknown"),
]
