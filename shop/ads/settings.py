"""Django settings of the ad server, which is a separate project that uses the shop's database.

The ad server's tables, administrators and migrations are in the schema `ads`. Therefore, the shop's
customers cannot be administrators, and each project migrates independently.
"""

from shop import settings as shop

SCHEMA = "ads"

SECRET_KEY = shop.SECRET_KEY
DEBUG = False
ALLOWED_HOSTS = shop.ALLOWED_HOSTS
USE_X_FORWARDED_HOST = shop.USE_X_FORWARDED_HOST
SECURE_PROXY_SSL_HEADER = shop.SECURE_PROXY_SSL_HEADER

INSTALLED_APPS = [
    "shop.ads.apps.AdsConfig",  # before the admin, so that its pages get the project's icon
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "shop.ads.urls"
WSGI_APPLICATION = "shop.ads.wsgi.application"
DEFAULT_AUTO_FIELD = shop.DEFAULT_AUTO_FIELD

DATABASES = {
    "default": {
        **shop.DATABASES["default"],
        "OPTIONS": {"application_name": "doorbuster-ads", "options": f"-c search_path={SCHEMA}"},
    }
}
# Separate cookies, because shop and ad server may have the same host name.
SESSION_COOKIE_NAME = "ads_session"
SESSION_COOKIE_PATH = "/ads/"
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_NAME = "ads_csrf"
CSRF_COOKIE_PATH = "/ads/"
CSRF_COOKIE_SAMESITE = "Lax"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
STATIC_URL = "/ads/static/"
WHITENOISE_USE_FINDERS = True  # the static files of the admin and of the project

LANGUAGE_CODE = shop.LANGUAGE_CODE
TIME_ZONE = shop.TIME_ZONE
USE_TZ = True
USE_I18N = False

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = shop.SECURE_REFERRER_POLICY
SILENCED_SYSTEM_CHECKS = shop.SILENCED_SYSTEM_CHECKS
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_MEMORY_SIZE = 64 * 1024
LOGGING = shop.LOGGING
