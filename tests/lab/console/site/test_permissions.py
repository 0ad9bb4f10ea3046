"""Every view of the console has a permission; a view without one is closed to all."""

from pathlib import Path
from typing import Any

import pytest

from tests.lab.console.programs import told

ACCOUNTS = {"DOORBUSTER_LAB_ACCOUNTS": "1"}
PROVIDER = {
    "DOORBUSTER_LAB_OIDC_ISSUER": "https://login.example.edu",
    "DOORBUSTER_LAB_OIDC_CLIENT_ID": "doorbuster",
    "DOORBUSTER_LAB_OIDC_CLIENT_SECRET": "secret",
}
WALK = """
from django.urls import get_resolver
from lab.console.site.permissions import Permission, everybody

def patterns(resolver, before=""):
    for pattern in resolver.url_patterns:
        route = before + str(pattern.pattern)
        if hasattr(pattern, "url_patterns"):
            yield from patterns(pattern, route)
        else:
            yield route, pattern.callback

found = {route: getattr(view, "permission", None) for route, view in patterns(get_resolver())}
"""


@pytest.fixture
def program(tmp_path: Path) -> Any:
    """A function: what a program prints that knows the permission of every address, `found`."""
    return lambda text, **settings: told(tmp_path, WALK + text, **settings)


def test_every_view_has_a_permission(program: Any) -> None:
    missing, number = program(
        """
missing = [route for route, one in found.items() if not isinstance(one, Permission)]
print(json.dumps([missing, len(found)]))
""",
        **ACCOUNTS,
        **PROVIDER,
    )
    assert missing == []
    assert number > 50


def test_only_the_login_the_documentation_and_programs_need_no_account(program: Any) -> None:
    text = "print(json.dumps([route for route, one in found.items() if one is everybody]))"
    assert set(program(text, **ACCOUNTS, **PROVIDER)) == {
        "api/openapi.json",
        "docs/",
        "docs/<path:file>",
        "docs/terms.json",
        "health",
        "metrics",
        "people/login",
        "people/sign-in",
        "people/sign-in/done",
    }


def test_a_view_without_a_permission_is_closed(program: Any) -> None:
    text = """
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.urls import path
from lab.console import urls
from lab.console.site.permissions import readers

urls.urlpatterns += [
    path("open", readers(lambda request: HttpResponse("open"))),
    path("new", lambda request: HttpResponse("new")),
]
client = Client()
client.force_login(User.objects.create(username="anna", is_staff=True))
answers = [client.get(address, secure=True).status_code for address in ("/open", "/new")]
print(json.dumps(answers))
"""
    begin = "from django.conf import settings\n"
    assert program(begin + text, **ACCOUNTS) == [200, 403]
