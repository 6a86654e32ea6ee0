"""Django's settings. What a person may set comes from the environment through dradash.conf; there is no database."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Final

from csp.constants import NONE, SELF

from dradash.conf import from_environ

DRADASH: Final = from_environ()
# Who gives the web process its model; a dotted path, because the web package may not import what wires it.
DRADASH_MODEL: Final = "dradash.bootstrap.read_model"

BASE_DIR: Final = Path(__file__).resolve().parent.parent

DEBUG = DRADASH.debug
# A random key ends all sessions with the process, and several processes would not know each other's (check W001).
SECRET_KEY = DRADASH.secret_key or secrets.token_urlsafe(48)
ALLOWED_HOSTS = [*DRADASH.allowed_hosts]

ROOT_URLCONF = "dradash.urls"
ASGI_APPLICATION = "dradash.asgi.application"
INSTALLED_APPS = [
    "dradash",  # management/commands
    "dradash.web",
    "django.contrib.staticfiles",
    "django_htmx",
    "csp",
]
MIDDLEWARE = [
    "dradash.metrics.process.MetricsMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "dradash.web.middleware.CompressionMiddleware",  # a list of a hundred rows is 100 kB, and 10 kB compressed
    "csp.middleware.CSPMiddleware",
    "dradash.web.middleware.HostMiddleware",
    "dradash.web.middleware.StaticMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "dradash.web.middleware.AuthMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "dradash.web.engine.Engine",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "loaders": [
                ("django.template.loaders.cached.Loader", ["django.template.loaders.filesystem.Loader"])
                if not DEBUG
                else "django.template.loaders.filesystem.Loader"
            ],
            "context_processors": ["django.template.context_processors.request", "dradash.web.navigation.context"],
            "libraries": {"dradash": "dradash.web.templatetags.dradash"},
        },
    }
]
DATABASES: dict[str, dict[str, str]] = {}
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
# Served straight from the packages and static/: nobody has to run collectstatic.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG
WHITENOISE_ALLOW_ALL_ORIGINS = False
WHITENOISE_MAX_AGE = 3600 if not DEBUG else 0

# Every process of one `up` renders from its own replica, so a wake-up never leaves the process. A socket stays in its
# groups for as long as it is open: the layer's own default forgets it after a day.
CHANNEL_LAYERS = {
    "default": {"BACKEND": "channels.layers.InMemoryChannelLayer", "CONFIG": {"group_expiry": 100 * 365 * 86400}}
}

SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
SESSION_COOKIE_NAME = "dradash"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 7 * 86400
CSRF_COOKIE_NAME = "dradash_csrf"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}
