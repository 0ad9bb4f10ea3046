"""Django settings of the console, read from the appliance's settings (docs/architecture.md).

Owns: how the console is put together. Must not know: who starts it.
What stands here is other than Django's own default. The shop's settings look alike in places: it
knows of nobody and nobody of it, so that neither could take them from the other.
"""

from runtime import settings as runtime_settings

LAB = runtime_settings.load()
FOLDER = LAB.state_dir / "console"

SECRET_KEY = LAB.secret_key or "only-for-a-console-that-nobody-visits"
# With accounts a class may call the machine what it likes: what a page of another site could do is
# refused by the checks of Origin in the CSRF middleware, and it has nobody's session. Without, the
# middleware of own names looks at the Host.
ALLOWED_HOSTS = ["*"]

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "lab.console.apps.ConsoleConfig",
]
MIDDLEWARE = [
    "lab.console.security.OwnNameMiddleware",
    "lab.console.sending.SendingMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "lab.console.security.ContentSecurityMiddleware",
]
if LAB.lab_accounts:
    MIDDLEWARE.append("lab.console.people.AccountsMiddleware")
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
]
ROOT_URLCONF = "lab.console.urls"
ASGI_APPLICATION = "lab.console.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# A file of its own (docs/decisions/0015): a database that is busy with the shop would hold up
# the pages that show how busy it is.
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": FOLDER / "console.sqlite3",
        "OPTIONS": {
            "timeout": 20,
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        },
    }
}

# Cookies of its own: shop and console may stand on one name.
SESSION_COOKIE_NAME = "lab_session"
CSRF_COOKIE_NAME = "lab_csrf"
CSRF_COOKIE_HTTPONLY = True
X_FRAME_OPTIONS = "SAMEORIGIN"  # a report of a reproduction is shown within a page
MESSAGE_STORAGE = "django.contrib.messages.storage.cookie.CookieStorage"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "lab.console.frame.frame",
            ],
            "builtins": ["django.templatetags.static", "lab.console.templatetags.words"],
        },
    }
]

STATIC_URL = "/static/"
STATIC_ROOT = FOLDER / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_I18N = False

MOST_UPLOAD_BYTES = 256 * 1024 * 1024  # a bundle of a large comparison
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
FILE_UPLOAD_MAX_MEMORY_SIZE = 2560 * 1024  # of a body; what is larger is written to the disk

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {"lab": {"level": "INFO"}, "django.request": {"level": "ERROR"}},
}
