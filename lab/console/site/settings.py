"""Django settings of the console, read from the appliance's settings (docs/settings.md)."""

from lab.console import pages
from lab.console.site import oidc_provider
from runtime import settings as runtime_settings

LAB = runtime_settings.load()
OIDC = oidc_provider.provider(LAB.variables(), accounts=LAB.lab_accounts)
FOLDER = LAB.state_dir / "console"

SECRET_KEY = LAB.secret_key or "only-for-a-console-that-nobody-visits"
# With accounts a class may call the machine by any name. The checks of Origin in the CSRF
# middleware refuse pages of other sites, which also have no session here. Without accounts,
# the middleware of own names checks the Host.
ALLOWED_HOSTS = ["*"]

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "lab.console",
]
MIDDLEWARE = [
    "lab.console.site.security.OwnNameMiddleware",
    "lab.console.site.sending.SendingMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "lab.console.site.tokens.TokenMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "lab.console.site.security.ContentSecurityMiddleware",
]
if OIDC is not None:
    INSTALLED_APPS.extend(oidc_provider.APPS)
    MIDDLEWARE.append(oidc_provider.MIDDLEWARE)
    globals().update(OIDC.django_settings())
if LAB.lab_accounts:
    MIDDLEWARE.append("lab.console.site.permissions.AccountsMiddleware")
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/"
PASSWORD_HASHERS = ["lab.console.people.logins.PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
]
ROOT_URLCONF = "lab.console.urls"
ASGI_APPLICATION = "lab.console.server.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# A separate file (docs/decisions/0015): a database that is busy with the shop would delay
# the pages that show how busy it is.
DATABASE_FILE = FOLDER / "console.sqlite3"
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": DATABASE_FILE,
        "OPTIONS": {
            "timeout": 20,
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        },
    }
}

# Cookies ignore ports. With accounts the console uses TLS only: a Secure cookie is never sent to
# a plain port of the same host, and a name that begins with __Host- cannot be set from there.
COOKIES_BEGIN = "__Host-lab_" if LAB.lab_accounts else "lab_"
SESSION_ENGINE = "lab.console.site.sessions"
SESSION_COOKIE_NAME = f"{COOKIES_BEGIN}session"
SESSION_COOKIE_SECURE = LAB.lab_accounts
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_NAME = f"{COOKIES_BEGIN}csrf"
CSRF_COOKIE_SECURE = LAB.lab_accounts
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "lab.console.site.calls.forged"
MESSAGE_STORAGE = "lab.console.site.sessions.MessageStorage"
X_FRAME_OPTIONS = "DENY"
SECURE_SSL_REDIRECT = LAB.lab_accounts  # no plain HTTP arrives then; this ensures it
SECURE_HSTS_SECONDS = LAB.lab_hsts_s if LAB.lab_accounts else 0
SILENCED_SYSTEM_CHECKS = [
    # The host's subdomains and its entry in browsers' lists do not belong to the console.
    "security.W005",
    "security.W021",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": pages.folders("templates"),
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "lab.console.server.frame.frame",
            ],
            "builtins": ["django.templatetags.static", "lab.console.site.templatetags.words"],
        },
    }
]

STATIC_URL = "/static/"
STATICFILES_DIRS = pages.folders("static")
STATIC_ROOT = FOLDER / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
WHITENOISE_KEEP_ONLY_HASHED_FILES = True  # no page uses the other names; compressing takes seconds

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_I18N = False

DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
FILE_UPLOAD_MAX_MEMORY_SIZE = 2560 * 1024  # bytes of a body in memory; larger ones go to the disk

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {"lab": {"level": "INFO"}, "django.request": {"level": "ERROR"}},
}
