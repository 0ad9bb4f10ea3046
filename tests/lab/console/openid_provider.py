"""A small OpenID Connect provider on loopback: the code flow with PKCE, as the standard has it.

It needs no password: it signs in `person` at once. The entries of `spoil` are wrong in its answers.
"""

import base64
import hashlib
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.fake_shop.server import Reply, Request, fake_server

CLIENT_ID = "doorbuster"
CLIENT_SECRET = "a secret: with +signs&"


def _made_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@dataclass
class OpenIDProvider:
    """The provider: the person who signs in, the faults of its answers, and the requests so far."""

    issuer: str = ""
    person: dict[str, Any] = field(default_factory=dict)
    spoil: dict[str, Any] = field(default_factory=dict)
    asked: list[dict[str, str]] = field(default_factory=list)
    _codes: dict[str, dict[str, str]] = field(default_factory=dict)
    _tokens: dict[str, dict[str, Any]] = field(default_factory=dict)
    _key: rsa.RSAPrivateKey = field(default_factory=_made_key)
    _other_key: rsa.RSAPrivateKey = field(default_factory=_made_key)

    def configuration(self) -> dict[str, Any]:
        return {
            "issuer": self.spoil.get("issuer", self.issuer),
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "jwks_uri": f"{self.issuer}/keys",
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
        }

    def keys(self) -> dict[str, Any]:
        public = jwt.algorithms.RSAAlgorithm.to_jwk(self._key.public_key(), as_dict=True)
        return {"keys": [{**public, "kid": "one", "alg": "RS256", "use": "sig"}]}

    def authorize(self, asked: dict[str, str]) -> str:
        """Return where the browser goes: back, with a code."""
        self.asked.append(asked)
        assert asked["client_id"] == CLIENT_ID
        assert asked["response_type"] == "code"
        assert "openid" in asked["scope"].split()
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(12)
        self._codes[code] = asked
        sent = {"code": code, "state": self.spoil.get("state", asked["state"])}
        if "error" in self.spoil:
            sent = {"error": self.spoil["error"], "state": asked["state"]}
        return f"{asked['redirect_uri']}?{urlencode(sent)}"

    def token(self, sent: dict[str, str]) -> dict[str, Any] | None:
        """Return the tokens for a code; None if anything of it is wrong. A code counts once."""
        asked = self._codes.pop(sent.get("code", ""), None)
        digest = hashlib.sha256(sent.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if (
            asked is None
            or (sent.get("client_id"), sent.get("client_secret")) != (CLIENT_ID, CLIENT_SECRET)
            or sent.get("redirect_uri") != asked["redirect_uri"]
            or challenge != asked["code_challenge"]
        ):
            return None
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "iat": now,
            "exp": now + 300,
            "nonce": asked["nonce"],
            "sub": self.person["sub"],
        }
        claims |= self.spoil.get("claims", {})
        key = self._other_key if "key" in self.spoil else self._key
        access = secrets.token_urlsafe(12)
        self._tokens[access] = self.person
        return {
            "access_token": access,
            "token_type": "Bearer",
            "id_token": jwt.encode(
                claims, key, "RS256", headers={"kid": self.spoil.get("kid", "one")}
            ),
        }

    def userinfo(self, authorization: str) -> dict[str, Any] | None:
        known = self._tokens.get(authorization.removeprefix("Bearer "))
        return known and {**known, **self.spoil.get("userinfo", {})}


@contextmanager
def openid_provider(port: int) -> Iterator[OpenIDProvider]:
    """Served at http://localhost:port, for browsers another site than 127.0.0.1."""
    provider = OpenIDProvider(f"http://localhost:{port}")

    def answer(request: Request) -> Reply:
        parts = urlsplit(request.path)
        if request.method == "POST":
            return _json(provider.token(request.form))
        if parts.path == "/authorize":
            asked = {name: texts[0] for name, texts in parse_qs(parts.query).items()}
            return Reply(status=302, headers={"Location": provider.authorize(asked)})
        if parts.path == "/userinfo":
            return _json(provider.userinfo(request.headers.get("authorization", "")))
        known = {
            "/.well-known/openid-configuration": provider.configuration,
            "/keys": provider.keys,
        }
        return _json(known[parts.path]() if parts.path in known else None)

    with fake_server(answer, port):
        yield provider


def _json(found: dict[str, Any] | None) -> Reply:
    body = json.dumps(found or {"error": "invalid_request"}).encode()
    return Reply(body, 200 if found else 400, {"Content-Type": "application/json"})
