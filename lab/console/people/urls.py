"""Addresses of logins and accounts."""

from django.urls import path

from lab.console.people import views
from lab.console.site.settings import OIDC

urlpatterns = [
    path("people/", views.everyone, name="people"),
    path("people/<int:pk>/", views.person, name="person"),
    path("people/<int:pk>/<str:change>", views.change, name="person-change"),
    path("people/login", views.login, name="login"),
    path("people/logout", views.logout, name="logout"),
    path("people/password", views.password, name="password"),
]
if OIDC is not None:
    from lab.console.people.oidc import flow

    urlpatterns += [
        path("people/sign-in", flow.begin, name="sign-in"),
        path("people/sign-in/done", flow.done, name="sign-in-done"),
    ]
