"""The OpenID Connect provider that this lab's settings specify."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from common import hosts
from runtime.settings import SettingsError

ISSUER, CLIENT_ID, CLIENT_SECRET, NAME, TEACHERS = (
    f"DOORBUSTER_LAB_OIDC_{name}"
    for name in ("ISSUER", "CLIENT_ID", "CLIENT_SECRET", "NAME", "TEACHERS")
)
_NEEDED = {
    ISSUER: "the address of the provider, e.g. https://login.example.edu",
    CLIENT_ID: "the client id that the provider gave you",
    CLIENT_SECRET: "the client secret that the provider gave you",
}
_PACKAGES = ("allauth", "jwt", "oauthlib", "requests")
_PATIENCE_S = 5
"""The maximum time to wait for the provider's answer, in real seconds."""


@dataclass(frozen=True, slots=True)
class Provider:
    """The provider with which people sign in instead of using a password of the console."""

    issuer: str
    client_id: str
    client_secret: str
    name: str
    """The name after *Sign in with* on the button."""
    teachers: frozenset[str]
    """The verified e-mail addresses, in lower case, of people who become teachers."""

    @property
    def id(self) -> str:
        """The key under which the provider's accounts are stored. Each issuer has a different
        key."""
        return "lab-" + hashlib.sha256(self.issuer.encode()).hexdigest()[:12]

    @property
    def discovery(self) -> str:
        """The address at which the provider publishes its configuration."""
        return self.issuer.rstrip("/") + "/.well-known/openid-configuration"

    def django_settings(self) -> dict[str, Any]:
        """Return the settings for allauth, which `lab.console.site.settings` includes."""
        app = {
            "provider_id": self.id,
            "name": self.name,
            "client_id": self.client_id,
            "secret": self.client_secret,
            "settings": {"server_url": self.discovery, "oauth_pkce_enabled": True},
        }
        return {
            "SOCIALACCOUNT_PROVIDERS": {"openid_connect": {"APPS": [app]}},
            "SOCIALACCOUNT_ADAPTER": "lab.console.people.oidc.people.Adapter",
            "SOCIALACCOUNT_REQUESTS_TIMEOUT": _PATIENCE_S,
            "SOCIALACCOUNT_EMAIL_AUTHENTICATION": False,
            "SOCIALACCOUNT_STORE_TOKENS": False,
            "ACCOUNT_EMAIL_VERIFICATION": "none",
            "ACCOUNT_UNIQUE_EMAIL": False,
            "ACCOUNT_SIGNUP_FIELDS": ["username*"],
        }


APPS = (
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
)
MIDDLEWARE = "allauth.account.middleware.AccountMiddleware"


def provider(variables: Mapping[str, str], *, accounts: bool) -> Provider | None:
    """Return the provider that the variables specify; None if no variable is set. Raises
    SettingsError with a line for each fault."""
    given = {name: variables.get(name, "").strip() for name in (*_NEEDED, NAME, TEACHERS)}
    if not any(given.values()):
        return None
    faults = [
        f"{name} is not set; allowed: {what}" for name, what in _NEEDED.items() if not given[name]
    ]
    if not accounts:
        faults.append(f"{ISSUER}: sign-in needs accounts; set DOORBUSTER_LAB_ACCOUNTS=1 too")
    if given[ISSUER] and not _is_issuer(given[ISSUER]):
        faults.append(
            f"{ISSUER}={given[ISSUER]:.200}: is not an address of a provider; allowed: "
            "https://host/path, or http://host/path on this machine"
        )
    addresses = frozenset(given[TEACHERS].lower().replace(",", " ").split())
    faults += [
        f"{TEACHERS}: {one!r:.200} is not an e-mail address; allowed: addresses separated by "
        "spaces or commas"
        for one in sorted(addresses)
        if not re.fullmatch(r"[^@\s]+@[^@\s]+", one)
    ]
    name = given[NAME] or urlsplit(given[ISSUER]).hostname or ""
    if len(name) > 60 or not name.isprintable():
        faults.append(f"{NAME}={name!a:.80}: must be at most 60 characters, all printable")
    missing = [package for package in _PACKAGES if find_spec(package) is None]
    if missing:
        faults.append(
            f"{ISSUER}: sign-in needs the extra oidc, which is not installed ({', '.join(missing)}"
            "); fix: .venv/bin/uv sync --locked --inexact --extra oidc"
        )
    if faults:
        raise SettingsError("\n".join(faults))
    return Provider(given[ISSUER], given[CLIENT_ID], given[CLIENT_SECRET], name, addresses)


def _is_issuer(text: str) -> bool:
    try:
        parts = urlsplit(text)
        host = parts.hostname or ""
        parts.port  # noqa: B018 - raises ValueError for what is no port
    except ValueError:
        return False
    if not host or parts.query or parts.fragment or "@" in parts.netloc or not text.isprintable():
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and hosts.is_loopback(host))
