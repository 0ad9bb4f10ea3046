"""Django settings of the bookshop, read from the DOORBUSTER_* environment (docs/architecture.md).

Owns: how the shop is put together. Must not know: who starts it or what stands in front of it.
The defaults here are for a bare `django-admin`; the runtime passes every variable.
"""

import os
import re
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from common import hosts
from shop.catalogue.books import BOOKS, LEAST_BOOKS, MOST_BOOKS

REPOSITORY = Path(__file__).resolve().parent.parent


def _text(name: str, default: str) -> str:
    return os.environ.get(f"DOORBUSTER_{name}") or default


def _number(name: str, default: int) -> int:
    text = _text(name, str(default))
    if not text.isdigit():
        raise ImproperlyConfigured(f"DOORBUSTER_{name} must be a whole number, not {text!r}.")
    return int(text)


# Several complete shops share a database and a Redis (docs/edragon.md): each has a schema of its
# own, and keys and cookies that begin with its name.
SHOP_SCHEMA = _text("SHOP_SCHEMA", "public")
# Taken: schemas of PostgreSQL and the ad server, and the prefix of the first shop's keys.
if not re.fullmatch(r"(?!pg_|(ads|information_schema|shop)$)[a-z][a-z0-9_]{0,39}", SHOP_SCHEMA):
    raise ImproperlyConfigured(
        "DOORBUSTER_SHOP_SCHEMA must be up to 40 small letters, digits and underscores, beginning "
        "with a letter and not with pg_, and none of ads, information_schema and shop; "
        f"not {SHOP_SCHEMA!r}."
    )
_COOKIE_PREFIX = "" if SHOP_SCHEMA == "public" else f"{SHOP_SCHEMA}_"

_HOST = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?|[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*")


def _host(name: str, default: str = "127.0.0.1") -> str:
    text = _text(name, default)
    if not _HOST.fullmatch(text):
        raise ImproperlyConfigured(
            f"DOORBUSTER_{name} must be a name or an address without port, "
            f"for example shop or 10.0.0.5, not {text!r}."
        )
    return text.lower()


STATE_DIR = Path(_text("STATE_DIR", str(REPOSITORY / "state")))

INNER_HOST = _host("INNER_HOST")
"""Where shop, controller and ad server listen; 0.0.0.0 and :: are every address."""
SHOP_HOST = _host("SHOP_HOST")
"""Where others reach the shop and its controller."""
ADS_HOST = _host("ADS_HOST")
IS_ON_LOOPBACK = INNER_HOST in ("127.0.0.1", "::1", "localhost")
# Whose word on a customer's address and scheme counts: whoever can reach the inner host.
FORWARDED_ALLOW_IPS = "127.0.0.1,::1" if IS_ON_LOOPBACK else "*"

INNER_TOKEN = _text("INNER_TOKEN", "")
"""What callers of the controller must send, if they must send it."""
INNER_TOKEN_REQUIRED = bool(_number("INNER_TOKEN_REQUIRED", 0))

SHOP_PORT = _number("SHOP_PORT", 8082)
SHOP_CONTROLLER_PORT = _number("SHOP_CONTROLLER_PORT", 8083)
SHOP_WORKERS = _number("SHOP_WORKERS", 30)
ADS_PORT = _number("ADS_PORT", 0)  # 0: there is no ad server
# The paper's catalogue; how large it may be: docs/shop.md, *The catalogue*.
CATALOGUE_BOOKS = _number("CATALOGUE_BOOKS", BOOKS)
if not LEAST_BOOKS <= CATALOGUE_BOOKS <= MOST_BOOKS:
    raise ImproperlyConfigured(
        f"DOORBUSTER_CATALOGUE_BOOKS must be from {LEAST_BOOKS} to {MOST_BOOKS}, "
        f"not {CATALOGUE_BOOKS}."
    )
SHOP_CPUS = _text("SHOP_CPUS", str((os.cpu_count() or 1) - 1))

SECRET_KEY = _text("SECRET_KEY", "only-for-a-shop-that-nobody-visits")
DEBUG = False
# Only the lab's own machines reach the inner host; what stands in front of the shop answers for its
# name, and a class may call the machine what it likes.
ALLOWED_HOSTS = ["*"]
USE_X_FORWARDED_HOST = True
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.postgres",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "shop.apps.ShopConfig",
    "shop.sentry",
]
MIDDLEWARE = [
    "shop.sentry.SentryMiddleware",
    "shop.middleware.PageWorkMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "shop.middleware.ContentSecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "shop.middleware.VisitMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "shop.urls"
WSGI_APPLICATION = "shop.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": _host("POSTGRES_HOST"),
        "PORT": _number("POSTGRES_PORT", 8084),
        "USER": _text("POSTGRES_USER", "doorbuster"),
        "PASSWORD": _text("POSTGRES_PASSWORD", ""),
        "NAME": _text("POSTGRES_DB", "doorbuster"),
        # Gunicorn's threads live as long as the process, so each keeps a connection of its own:
        # docs/decisions/0005-shop-database-connections.md.
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            "application_name": "doorbuster-shop",
            "options": f"-c search_path={SHOP_SCHEMA}",
        },
    }
}
REDIS_PATIENCE_S = 1.0
_REDIS_PASSWORD = _text("REDIS_PASSWORD", "")
_REDIS = hosts.authority(_host("REDIS_HOST"), _number("REDIS_PORT", 8085))
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": f"redis://{_REDIS}/0",
        "KEY_PREFIX": "shop" if SHOP_SCHEMA == "public" else SHOP_SCHEMA,
        "OPTIONS": {
            "pool_class": "shop.back_end.RedisPool",
            # A Redis that hangs is away, too.
            "socket_connect_timeout": REDIS_PATIENCE_S,
            "socket_timeout": REDIS_PATIENCE_S,
            **({"password": _REDIS_PASSWORD} if _REDIS_PASSWORD else {}),
        },
    }
}
SESSION_ENGINE = "shop.sessions"
# Browsers keep cookies by host, whatever the port.
SESSION_COOKIE_NAME = f"{_COOKIE_PREFIX}sessionid"
CSRF_COOKIE_NAME = f"{_COOKIE_PREFIX}csrftoken"
SESSION_COOKIE_AGE = 86_400
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "shop.views.errors.form_expired"

# What abandonment does is an experiment's choice; the controller changes it: docs/sentry.md.
SENTRY_MODE = "watch"
SENTRY_DATABASE_CHECK_S = 1

AUTH_USER_MODEL = "shop.Customer"
LOGIN_URL = "sign-in"
# Few iterations on purpose: docs/decisions/0004-shop-password-hashing.md.
PASSWORD_HASHERS = ["shop.accounts.QuickPBKDF2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 8},
    },
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
        "OPTIONS": {"user_attributes": ("username", "email")},
    },
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [REPOSITORY / "shop" / "templates"],
        "OPTIONS": {
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    ["django.template.loaders.filesystem.Loader"],
                )
            ],
            "context_processors": ["shop.views.frame.frame"],
            "builtins": ["django.templatetags.static"],
        },
    }
]

STATIC_URL = "/static/"
STATIC_ROOT = STATE_DIR / "shop-static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_MEMORY_SIZE = 64 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 100

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "filters": {"outages": {"()": "shop.outages.InOneLine"}},
    "handlers": {
        "console": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["outages"]}
    },
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        "shop": {"level": "INFO"},
        # A mistyped address or a refused form is the visitor's business, not the log's.
        "django.request": {"level": "ERROR"},
        "django.security.csrf": {"level": "ERROR"},
    },
}
