"""Every setting, read from the environment (or ``.env`` beside ``manage.py``), each with a default that works."""

import contextlib
import json
import os
import secrets
import sys
from pathlib import Path
from typing import Any

import environ

BASE_DIR = Path(__file__).resolve().parent.parent

env = environ.Env()
env.read_env(BASE_DIR / ".env")

# What could not be read, by name: the system checks explain it, and no command runs on a half-read environment.
UNREADABLE: dict[str, str] = {}


def number(name: str, default: int) -> int:
    """A whole number from the environment, ASCII digits only."""
    text = env.str(name, default=str(default)).strip()
    if text.isascii() and text.isdigit() and len(text) <= 18:
        return int(text)
    UNREADABLE[name] = f"a whole number such as {default}"
    return default


def seconds(name: str, default: float) -> float:
    """A length of time in seconds from the environment."""
    try:
        return float(env.str(name, default=str(default)))
    except ValueError:
        UNREADABLE[name] = f"a number of seconds such as {default}"
        return default


def switch(name: str, default: bool) -> bool:
    """On or off from the environment."""
    text = env.str(name, default="on" if default else "off").strip().lower()
    if text in ("on", "true", "1", "yes"):
        return True
    if text not in ("off", "false", "0", "no", ""):
        UNREADABLE[name] = "on or off"
    return False


def mapping(name: str) -> dict[str, Any]:
    """A JSON object from the environment; empty where it is not set."""
    with contextlib.suppress(ValueError, RecursionError):
        if isinstance(found := json.loads(env.str(name, default="{}") or "{}"), dict):
            return found
    UNREADABLE[name] = "a JSON object"
    return {}


DEBUG = switch("DEBUG", default=False)

# `serve` makes and keeps a key. A command that runs before it needs none that lasts: nothing but browser sessions
# is signed with it.
SECRET_KEY_FILE = BASE_DIR / ".secret-key"
SECRET_KEY = env.str("SECRET_KEY", default="") or (
    SECRET_KEY_FILE.read_text().strip() if SECRET_KEY_FILE.exists() else secrets.token_urlsafe(50)
)

WAKEFUL_HOST = env.str("WAKEFUL_HOST", default="127.0.0.1")
WAKEFUL_PORT = number("WAKEFUL_PORT", 8000)
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]", WAKEFUL_HOST])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

WAKEFUL_LEASE_SECONDS = number("WAKEFUL_LEASE_SECONDS", 60)
WAKEFUL_MAX_WAIT_SECONDS = seconds("WAKEFUL_MAX_WAIT_SECONDS", 30.0)
WAKEFUL_BATCH_SESSIONS = number("WAKEFUL_BATCH_SESSIONS", 200)
WAKEFUL_MAX_REMINDERS = number("WAKEFUL_MAX_REMINDERS", 1000)
WAKEFUL_MAX_SESSIONS = number("WAKEFUL_MAX_SESSIONS", 1_000_000)
WAKEFUL_LOG_FORMAT = env.str("WAKEFUL_LOG_FORMAT", default="text")

# Routines. A manifest is code: naming its workspace here is what trusts it.
WAKEFUL_WORKSPACES = env.list("WAKEFUL_WORKSPACES", default=[])
WAKEFUL_SCAN_SECONDS = seconds("WAKEFUL_SCAN_SECONDS", 1.0)
WAKEFUL_TOOLS = env.list("WAKEFUL_TOOLS", default=[])
WAKEFUL_ALLOWED_COMMANDS = env.list("WAKEFUL_ALLOWED_COMMANDS", default=[])
WAKEFUL_IDENTITIES = mapping("WAKEFUL_IDENTITIES")
# How many runs one process works at a time, and after how many failures in a row a job pauses itself.
WAKEFUL_WORKERS = number("WAKEFUL_WORKERS", 4)
WAKEFUL_PAUSE_AFTER = number("WAKEFUL_PAUSE_AFTER", 5)
# How often events may fire one routine in a minute.
WAKEFUL_EVENT_RATE = number("WAKEFUL_EVENT_RATE", 60)
# How long a session that an agent was started in stays open while reminders wait in it.
WAKEFUL_AGENT_OPEN_SECONDS = number("WAKEFUL_AGENT_OPEN_SECONDS", 86_400)
# Where the agents that it starts reach it; `serve` puts the address that it listens on where this is not set.
WAKEFUL_URL = env.str("WAKEFUL_URL", default=f"http://{WAKEFUL_HOST}:{WAKEFUL_PORT}")
# Each is an argument list, run without a shell; {prompt}, {model}, {cwd} and {session} are filled in.
WAKEFUL_AGENT_ADAPTERS = {
    "echo": {"command": [sys.executable, "-c", "import sys; print(sys.argv[1])", "{prompt}"]},
    **mapping("WAKEFUL_AGENT_ADAPTERS"),
}
# Hosts and networks that outbound requests may reach although they are private.
WAKEFUL_OUTBOUND_ALLOW = env.list("WAKEFUL_OUTBOUND_ALLOW", default=[])
_VAULT = "WAKEFUL_VAULT_"
WAKEFUL_VAULT = {name.removeprefix(_VAULT): value for name, value in os.environ.items() if name.startswith(_VAULT)}


def mail(url: str) -> dict[str, Any]:
    """Django's settings for the mail server of a URL; what it leaves open, Django's defaults say."""
    read = environ.Env.email_url_config(url)
    found = {name: value for name, value in read.items() if value is not None and name.startswith("EMAIL_")}
    found.setdefault("EMAIL_PORT", 587 if "EMAIL_USE_TLS" in found else 465 if "EMAIL_USE_SSL" in found else 25)
    return found


# EMAIL_HOST and the like. Without a server no mail goes out, and whoever sends a notice is told.
try:
    globals().update(mail(env.str("EMAIL_URL", default="") or "dummymail://"))
except (ValueError, environ.ImproperlyConfigured):
    UNREADABLE["EMAIL_URL"] = "smtp+tls://USER:PASSWORD@HOST:587"
# In seconds, for each step of a delivery: whoever waits gives up after as long, and what they left must end too.
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default="wakeful@localhost")

INSTALLED_APPS = [
    "schedules.apps.SchedulesConfig",
    "routines.apps.RoutinesConfig",
    "config.apps.WakefulConfig",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
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

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
APPEND_SLASH = False

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# How long a writer waits for its turn before it answers `persistence_uncertain`.
LOCK_SECONDS = 20

# For every connection to PostgreSQL: waits are bounded, and each statement sees what was committed before it.
POSTGRESQL_SESSION = (
    f"-c lock_timeout={LOCK_SECONDS}s -c idle_in_transaction_session_timeout=60s "
    "-c default_transaction_isolation=read\\ committed"
)


def database(url: str) -> dict[str, Any]:
    """Django's settings for a database URL: durable commits, bounded waits, on SQLite and PostgreSQL."""
    settings: dict[str, Any] = {**environ.Env.db_url_config(url)}
    options: dict[str, Any] = settings.setdefault("OPTIONS", {})
    engine = settings.get("ENGINE", "")
    if engine == "django.db.backends.sqlite3":
        # Each thread keeps its own: opening one costs as much as a call.
        settings["CONN_MAX_AGE"] = None
        name = str(settings["NAME"])
        # A relative name would follow the current directory: two folders, two databases.
        settings["NAME"] = str(BASE_DIR / name)
        options.update(
            transaction_mode="IMMEDIATE",
            timeout=LOCK_SECONDS,
            init_command="PRAGMA journal_mode=WAL;PRAGMA synchronous=FULL;PRAGMA foreign_keys=ON;",
        )
    elif engine == "django.db.backends.postgresql":
        # The server's threads are few and last, so each keeps a connection, proven anew at every request's start: a
        # server that restarted costs no call, and one that refuses is told of at once. A pool would let calls queue
        # for a connection as long as they may wait at all, and go on refusing them for minutes after an outage.
        settings["CONN_MAX_AGE"] = 600
        settings["CONN_HEALTH_CHECKS"] = True
        # What the URL sets comes last and wins.
        options["options"] = f"{POSTGRESQL_SESSION} {options.get('options', '')}".strip()
        for option, value in {
            "connect_timeout": 5,
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 20_000,
            "application_name": "wakeful",
        }.items():
            options.setdefault(option, value)
    return settings


def database_of_environment() -> dict[str, Any]:
    """The database of ``DATABASE_URL``; the default one where that cannot be read."""
    default = "sqlite:///wakeful.sqlite3"
    url = env.str("DATABASE_URL", default=default)
    found = {}
    if url.partition(":")[0] in ("sqlite", "postgres", "postgresql"):
        with contextlib.suppress(ValueError, environ.ImproperlyConfigured):
            found = database(url)
    # A database in memory would be another one in each thread.
    if not found.get("NAME") or ":memory:" in str(found["NAME"]):
        UNREADABLE["DATABASE_URL"] = f"{default} or postgres://USER:PASSWORD@HOST:5432/NAME"
        return database(default)
    return found


DATABASES = {"default": database_of_environment()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True

STATIC_URL = "/static/"
STATIC_ROOT = None
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG

SECURE_CONTENT_TYPE_NOSNIFF = True
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"

# The limit of a request's body, in bytes; the parser answers 413 beyond it.
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "schedules.access.authentication.BearerAuthentication",
        "schedules.access.authentication.StaffSessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PARSER_CLASSES": ["schedules.api.json.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["schedules.api.json.AsciiJSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "schedules.api.json.AlwaysJSON",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "schedules.api.errors.handle",
    "UNAUTHENTICATED_USER": None,
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Wakeful",
    "DESCRIPTION": "Brings an AI agent's conversation back to work at the right time.",
    "VERSION": "0.1.0",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SERVE_AUTHENTICATION": [],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "text": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"},
        "json": {"()": "config.logs.JSONFormatter"},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": "json" if WAKEFUL_LOG_FORMAT == "json" else "text",
        }
    },
    "root": {"handlers": ["stderr"], "level": "INFO"},
    # A refused call is the caller's affair, not the operator's.
    "loggers": {"django.request": {"level": "ERROR"}},
}
