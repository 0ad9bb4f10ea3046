"""The bookshop's Django settings, which include the settings of `shop.environment`
(docs/settings.md).

The defaults are for a call of `django-admin`; an appliance sets the environment variables.
"""

import os
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from common import hosts
from common.settings import SettingsError, read
from shop.environment import Environment

REPOSITORY = Path(__file__).resolve().parent.parent

try:
    _READ = read(Environment, os.environ)
except SettingsError as error:
    raise ImproperlyConfigured(str(error)) from None

SHOP_SCHEMA = _READ.shop_schema
_COOKIE_PREFIX = "" if SHOP_SCHEMA == "public" else f"{SHOP_SCHEMA}_"
STATE_DIR = _READ.state_dir

INNER_HOST = _READ.inner_host
SHOP_HOST = _READ.shop_host
ADS_HOST = _READ.ads_host
# All proxies that reach the inner host may set the headers for a customer's address and scheme.
FORWARDED_ALLOW_IPS = "127.0.0.1,::1" if hosts.is_loopback(INNER_HOST) else "*"

INNER_TOKEN = _READ.inner_token
INNER_TOKEN_REQUIRED = _READ.inner_token_required

SHOP_PORT = _READ.shop_port
SHOP_CONTROLLER_PORT = _READ.shop_controller_port
SHOP_WORKERS = _READ.shop_workers
SHOP_CPUS = _READ.shop_cpus
ADS_PORT = _READ.ads_port
CATALOGUE_BOOKS = _READ.catalogue_books

SECRET_KEY = _READ.secret_key
DEBUG = False
# Only the lab's machines reach the inner host. The proxy in front of the shop checks host names,
# and a class may give the machine any name.
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
TELEMETRY_ENDPOINT = _READ.telemetry_endpoint
if TELEMETRY_ENDPOINT and _READ.telemetry_sampled_ratio:
    MIDDLEWARE.insert(1, "shop.server.tracing.TraceMiddleware")  # the sentry must stay the first
ROOT_URLCONF = "shop.urls"
WSGI_APPLICATION = "shop.server.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": _READ.postgres_host,
        "PORT": _READ.postgres_port,
        "USER": _READ.postgres_user,
        "PASSWORD": _READ.postgres_password,
        "NAME": _READ.postgres_db,
        # Gunicorn's threads live as long as the process, and each keeps a connection:
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
_REDIS = hosts.authority(_READ.redis_host, _READ.redis_port)
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": f"redis://{_REDIS}/0",
        "KEY_PREFIX": "shop" if SHOP_SCHEMA == "public" else SHOP_SCHEMA,
        "OPTIONS": {
            "pool_class": "shop.page_costs.back_end.RedisPool",
            # A Redis that hangs counts as unavailable, too.
            "socket_connect_timeout": REDIS_PATIENCE_S,
            "socket_timeout": REDIS_PATIENCE_S,
            **({"password": _READ.redis_password} if _READ.redis_password else {}),
        },
    }
}
SESSION_ENGINE = "shop.sessions"
# Browsers keep cookies by host, without the port.
SESSION_COOKIE_NAME = f"{_COOKIE_PREFIX}sessionid"
CSRF_COOKIE_NAME = f"{_COOKIE_PREFIX}csrftoken"
SESSION_COOKIE_AGE = 86_400
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "shop.views.errors.form_expired"

# Each experiment chooses the abandonment setting, which the controller changes: docs/sentry.md.
SENTRY_MODE = "watch"
SENTRY_DATABASE_CHECK_S = 1

AUTH_USER_MODEL = "shop.Customer"
LOGIN_URL = "sign-in"
# Few iterations, on purpose: docs/decisions/0004-shop-password-hashing.md.
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
WHITENOISE_KEEP_ONLY_HASHED_FILES = True  # no page uses the other names; compressing takes seconds

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
# Experiments compare HTTP with HTTPS, so the shop neither redirects customers to HTTPS nor marks
# its cookies as secure.
SILENCED_SYSTEM_CHECKS = ["security.W004", "security.W008", "security.W012", "security.W016"]
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
        # Mistyped addresses and refused forms must not fill the log.
        "django.request": {"level": "ERROR"},
        "django.security.csrf": {"level": "ERROR"},
    },
}
