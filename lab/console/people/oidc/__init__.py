"""Optional sign-in with an OpenID Connect provider, through django-allauth (the extra `oidc`)."""
