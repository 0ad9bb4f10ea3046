"""Optional sign-in with an OpenID Connect provider, by django-allauth (the extra `oidc`)."""
