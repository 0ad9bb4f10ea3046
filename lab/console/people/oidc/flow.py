"""The steps of a sign-in (OpenID Connect's code flow). allauth handles `state` and PKCE; this
module checks the nonce, the signature, the issuer and the audience of the ID token."""

import secrets
import time
from typing import Any, ClassVar

import jwt
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from requests import RequestException

from common.rate_limit import RateLimit
from lab.console.people.logins import address_of
from lab.console.people.oidc.people import refused
from lab.console.site import allowances
from lab.console.site.permissions import everybody
from lab.console.site.settings import OIDC

assert OIDC is not None
PROVIDER = OIDC
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"]
LEEWAY_S = 60
"""The maximum accepted difference from the provider's clock, in real seconds."""
KNOWN_FOR_S = 600.0
"""The time for which the provider's configuration is cached, in real seconds."""
BEGINNINGS = RateLimit(4 * allowances.LOGINS_PER_ADDRESS, allowances.LOGINS_WITHIN_S)
"""The limit on how often sign-ins can begin from one address."""
_CHANGED = (AttributeError, KeyError, TypeError, ValueError, RequestException, jwt.PyJWTError)
"""The exceptions that are raised if the provider does not answer, or if its answer violates OpenID
Connect."""


class Adapter(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]  # allauth has no types
    """allauth's provider, with an additional check of the ID token."""

    nonce: str | None = None
    _known: ClassVar[tuple[float, dict[str, Any]]] = (-KNOWN_FOR_S, {})

    @property
    def openid_config(self) -> dict[str, Any]:
        """The provider's configuration, cached for `KNOWN_FOR_S`. Raises OAuth2Error if the
        configuration names another issuer than the setting.
        """
        at, known = Adapter._known
        if time.monotonic() < at + KNOWN_FOR_S:
            return known
        known = _json(PROVIDER.discovery)
        if known.get("issuer") != PROVIDER.issuer:
            raise OAuth2Error(f"{PROVIDER.discovery} names another issuer")
        Adapter._known = (time.monotonic(), known)
        return known

    def get_callback_url(self, request: HttpRequest, app: Any) -> str:
        return request.build_absolute_uri(reverse("sign-in-done"))

    def get_access_token_data(self, *args: Any, **more: Any) -> dict[str, Any]:
        try:
            found: dict[str, Any] = super().get_access_token_data(*args, **more)
            found["access_token"], found["id_token"]
            return found
        except _CHANGED as fault:
            raise OAuth2Error(f"the token endpoint: {fault!r}") from fault

    def complete_login(self, request: HttpRequest, app: Any, token: Any, **more: Any) -> Any:
        try:
            claims = self._checked(more["response"]["id_token"])
            told = {}
            if "userinfo_endpoint" in self.openid_config:
                told = self._fetch_user_info(token.token)
                if told["sub"] != claims["sub"]:
                    raise OAuth2Error("the user info belongs to another person")
            # An e-mail address is verified only if its source also confirms it.
            source = claims if claims.get("email") else told
            person = {**told, **claims, "email": source.get("email")}
            person["email_verified"] = source.get("email_verified") is True
            return self.get_provider().sociallogin_from_response(request, {"userinfo": person})
        except _CHANGED as fault:
            raise OAuth2Error(f"the ID token: {fault!r}") from fault

    def _checked(self, id_token: str) -> dict[str, Any]:
        """Return the claims of an ID token. Raises jwt.PyJWTError or OAuth2Error if the token is
        not valid for this sign-in."""
        wanted = jwt.get_unverified_header(id_token).get("kid")
        keys = jwt.PyJWKSet.from_dict(_json(self.openid_config["jwks_uri"])).keys
        key = next((one for one in keys if wanted in (None, one.key_id)), None)
        if key is None:
            raise OAuth2Error("the provider does not publish the ID token's key")
        claims: dict[str, Any] = jwt.decode(
            id_token,
            key=key,
            algorithms=ALGORITHMS,
            audience=PROVIDER.client_id,
            issuer=PROVIDER.issuer,
            leeway=LEEWAY_S,
            options={"require": ["iss", "sub", "aud", "exp", "iat", "nonce"]},
        )
        if claims.get("azp", PROVIDER.client_id) != PROVIDER.client_id:
            raise OAuth2Error("the ID token was issued to another client")
        if not self.nonce or not secrets.compare_digest(str(claims["nonce"]), self.nonce):
            raise OAuth2Error("the ID token belongs to another sign-in")
        return claims


class _Callback(OAuth2CallbackView):  # type: ignore[misc]  # allauth has no types
    def _get_state(self, request: HttpRequest, provider: Any) -> Any:
        state, response = super()._get_state(request, provider)
        if state:
            self.adapter.nonce = (state.get("data") or {}).get("nonce")
        return state, response


@everybody.post
def begin(request: HttpRequest) -> HttpResponse:
    """Redirect to the provider. The answer is a page that opens the provider's address by itself,
    because the console's Content-Security-Policy forbids forms that lead to another site."""
    wait_s = BEGINNINGS.reserve(address_of(request))
    if wait_s:
        response = refused(
            request, f"Many people are signing in. Try again in {wait_s} s.", status=429
        )
        response["Retry-After"] = str(wait_s)
        return response
    nonce = secrets.token_urlsafe(24)
    provider = get_adapter(request).get_provider(request, provider=PROVIDER.id)
    provider.oauth2_adapter_class = Adapter
    try:
        away: HttpResponse = provider.redirect(
            request,
            process="login",
            next_url=_next(request),
            data={"nonce": nonce},
            auth_params={"nonce": nonce},
        )
    except (*_CHANGED, OAuth2Error) as fault:
        return _unreachable(request, fault)
    if not (location := away.headers.get("Location")):
        return away
    response = render(
        request, "console/sign_in.html", {"away": location, "provider": PROVIDER.name}
    )
    response["Cache-Control"] = "no-store"
    return response


@everybody.get
def done(request: HttpRequest) -> HttpResponse:
    """Log in the person whom the provider has identified."""
    response: HttpResponse = _Callback.adapter_view(Adapter(request, PROVIDER.id))(request)
    return response


def _unreachable(request: HttpRequest, fault: Exception) -> HttpResponse:
    from lab.console.people.oidc.people import logger

    logger.warning("%s cannot be used: %.200r", PROVIDER.discovery, fault)
    return refused(request, f"{PROVIDER.name} gave no valid answer. Try again later.", status=502)


def _json(address: str) -> dict[str, Any]:
    with get_adapter().get_requests_session() as session:
        answer = session.get(address)
        answer.raise_for_status()
        found: dict[str, Any] = answer.json()
        return found


def _next(request: HttpRequest) -> str | None:
    """Return the address that the person wanted; None if it is missing or outside the console."""
    wanted = request.POST.get("next", "")
    own = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return wanted if own else None
