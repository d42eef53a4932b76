"""All settings, read from environment variables.

`.env.example` lists the variables with their defaults; `docs/operate/configuration.md` explains
them. A wrong value stops the start and names its variable (`halo_mcp/env.py`).
"""

from pathlib import Path
from typing import Any

from csp.constants import NONE, SELF
from django.utils.translation import gettext_lazy as _

from halo_mcp import cookies, env, key_files, logs, passkeys
from halo_mcp.setting_groups import *  # noqa: F403  settings of one topic each
from halo_mcp.setting_groups.deployment import (
    HALO_PUBLIC_URL,
    IS_LOOPBACK,
    LOOPBACK_HOSTS,
    PUBLIC_HOST,
)

BASE_DIR = Path(__file__).resolve().parent.parent
HALO_DATA_DIR = Path(env.text("HALO_DATA_DIR", str(BASE_DIR / "var"))).resolve()

# --- Deployment ---------------------------------------------------------------------------------

DEBUG = env.flag("HALO_DEBUG", default=False)
# The domain name of passkeys; empty if browsers support none for this address.
HALO_PASSKEY_DOMAIN = passkeys.domain(HALO_PUBLIC_URL)
IS_HTTPS = HALO_PUBLIC_URL.startswith("https://")
# What the host of a workspace of the HR endpoint ends with; empty if workspaces have none.
HALO_PEOPLE_HOST = env.workspace_host("HALO_PEOPLE_HOST", is_local=IS_LOOPBACK)
OWN_HOSTS = LOOPBACK_HOSTS if PUBLIC_HOST in LOOPBACK_HOSTS else [PUBLIC_HOST]
ALLOWED_HOSTS = [*OWN_HOSTS, *filter(None, [HALO_PEOPLE_HOST]), *env.words("HALO_ALLOWED_HOSTS")]
# The number of web processes; with more than one, nothing may be counted in memory.
HALO_PROCESSES = env.integer("HALO_PROCESSES", 1, least=1, most=1_000)
HALO_CORE_THREADS = env.integer("HALO_CORE_THREADS", 4, least=1, most=256)
# Threads of calls that stream. One connection has at most a quarter of them, one organization half
# (tools_registry/endpoint/streams/conversation.py).
HALO_STREAM_THREADS = env.integer("HALO_STREAM_THREADS", 16, least=4, most=1_000)
HALO_TRUSTED_PROXIES = env.networks("HALO_TRUSTED_PROXIES")
HALO_ALLOWED_ORIGINS = env.origins("HALO_ALLOWED_ORIGINS")
# Some hosts refuse dots in tool names; both forms are accepted when a tool is called.
HALO_TOOL_NAMES = env.choice("HALO_TOOL_NAMES", "dotted", ("dotted", "underscore"))

# --- Stores -------------------------------------------------------------------------------------

REDIS_URL = env.text("REDIS_URL")
DATABASE = env.database("DATABASE_URL", env.sqlite_url(HALO_DATA_DIR / "halo.sqlite3"))
ON_SQLITE = DATABASE["ENGINE"] == "django.db.backends.sqlite3"
# IMMEDIATE: a deferred transaction that reads and then writes fails at once under concurrency.
# FULL: a revocation must survive a power cut.
SQLITE_TIMEOUT_SECONDS = 20
SQLITE_OPTIONS = {
    "transaction_mode": "IMMEDIATE",
    "timeout": SQLITE_TIMEOUT_SECONDS,
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-16000;",
}
# Statements are bound and prepared by the server: PostgreSQL's time per call halves.
POSTGRESQL_OPTIONS = {"server_side_binding": True, "prepare_threshold": 5}
# How long a peer may be silent, in libpq's units (PostgreSQL 15, 34.1.2); DATABASE_URL may have its
# own. The limits of statements are in foundation/db/waits.py.
POSTGRESQL_WAITS = {
    "connect_timeout": 3,
    "tcp_user_timeout": 10_000,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
# Connections that the threads of one process share.
HALO_DATABASE_CONNECTIONS = env.integer("HALO_DATABASE_CONNECTIONS", 30, least=4, most=1000)
DATABASES = {
    "default": {
        **DATABASE,
        "ENGINE": DATABASE["ENGINE"] if ON_SQLITE else "foundation.db.postgresql",
        # The URL may set sslmode itself: without it, a connection would not be encrypted.
        "OPTIONS": SQLITE_OPTIONS
        if ON_SQLITE
        else POSTGRESQL_WAITS | DATABASE.get("OPTIONS", {}) | POSTGRESQL_OPTIONS,
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": not ON_SQLITE,
        # A file even in tests: in memory, SQLite locks differently from deployments.
        "TEST": {"NAME": str(HALO_DATA_DIR / "test.sqlite3")} if ON_SQLITE else {},
    }
}
HALO_LIMIT_STORE = env.text(
    "HALO_LIMIT_STORE", REDIS_URL or ("memory" if ON_SQLITE else "postgresql")
)
# The transport of notifications between processes (foundation/pubsub).
HALO_NOTICES = REDIS_URL or (str(HALO_DATA_DIR / "notices") if ON_SQLITE else "postgresql")
CACHES = {
    "default": (
        {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": REDIS_URL,
            # A Redis that hangs must not block the pages.
            "OPTIONS": {"socket_timeout": 0.5, "socket_connect_timeout": 0.5},
        }
        if REDIS_URL
        else {
            "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
            # Page limits are counted here; at 300 entries, the default, they evict each other.
            "OPTIONS": {"MAX_ENTRIES": 10_000},
        }
    )
}

# --- Keys ---------------------------------------------------------------------------------------

SECRET_KEY = env.secret("HALO_SECRET_KEY") or key_files.read_or_create(
    HALO_DATA_DIR / key_files.SECRET_KEY, DATABASE
)
SECRET_KEY_IS_GENERATED = not env.text("HALO_SECRET_KEY")
SECRET_KEY_FALLBACKS = env.words("HALO_SECRET_KEY_FALLBACKS")
HALO_SEALING_KEYS = (
    env.words("HALO_SEALING_KEYS")
    or key_files.read_or_create(HALO_DATA_DIR / key_files.SEALING_KEY, DATABASE).split()
)
SEALING_KEY_IS_GENERATED = not env.words("HALO_SEALING_KEYS")

# --- Limits and lifetimes, each with its documented default -------------------------------------

HALO_RATE_REGISTER = env.rate("HALO_RATE_REGISTER", "10/h")
HALO_RATE_REGISTER_ATTEMPTS = env.rate("HALO_RATE_REGISTER_ATTEMPTS", "60/h")
HALO_RATE_TOOLS_LIST = env.rate("HALO_RATE_TOOLS_LIST", "60/m")
HALO_RATE_TOOLS_CALL = env.rate("HALO_RATE_TOOLS_CALL", "120/m")
HALO_RATE_OTHER = env.rate("HALO_RATE_OTHER", "60/m")
# Streams of `subscriptions/listen` that one connection may hold open in each process.
HALO_LISTENS_PER_CONNECTION = env.integer("HALO_LISTENS_PER_CONNECTION", 5, least=1, most=1_000)
HALO_RATE_TOKEN = env.rate("HALO_RATE_TOKEN", "30/m")
HALO_RATE_AUTHORIZE = env.rate("HALO_RATE_AUTHORIZE", "60/m")
HALO_RATE_SIGNIN = env.rate("HALO_RATE_SIGNIN", "20/m")
HALO_RATE_SDK = env.rate("HALO_RATE_SDK", "6000/m")
HALO_RATE_HR_API = env.rate("HALO_RATE_HR_API", "600/m")
HALO_RATE_IP = env.rate("HALO_RATE_IP", "1200/m")
HALO_ACCESS_TOKEN_SECONDS = env.integer("HALO_ACCESS_TOKEN_SECONDS", 3600, least=1, most=31_536_000)
# A refresh token ends if it is not used for so long, its token family so long after the consent.
HALO_REFRESH_IDLE_DAYS = env.integer("HALO_REFRESH_IDLE_DAYS", 90, least=1, most=3650)
HALO_REFRESH_MAX_DAYS = env.integer("HALO_REFRESH_MAX_DAYS", 365, least=1, most=3650)
# For clients that refresh twice at the same moment or lose the response to a refresh; with 0, a
# replayed token always ends its family.
HALO_REFRESH_REPLAY_SECONDS = env.integer("HALO_REFRESH_REPLAY_SECONDS", 20, most=60)
HALO_CODE_SECONDS = env.integer("HALO_CODE_SECONDS", 300, least=1, most=3_600)
# Consumed codes are kept this long so that a replay is recognised (RFC 6749 4.1.2).
HALO_CODE_KEEP_SECONDS = env.integer("HALO_CODE_KEEP_SECONDS", 86_400, least=300, most=31_536_000)
HALO_CONSENT_SECONDS = env.integer("HALO_CONSENT_SECONDS", 600, least=30, most=86_400)
# How long “don't ask again” is valid; with 0 it is not offered, and earlier choices are ignored.
HALO_REMEMBER_CONSENT_DAYS = env.integer("HALO_REMEMBER_CONSENT_DAYS", 30, most=365)
HALO_UNUSED_CLIENT_DAYS = env.integer("HALO_UNUSED_CLIENT_DAYS", 30, least=1, most=env.MAX_DAYS)
HALO_AUDIT_INTERRUPTED_SECONDS = env.integer(
    "HALO_AUDIT_INTERRUPTED_SECONDS", 900, least=60, most=604_800
)
# How long a user may take to answer an elicitation.
HALO_ASK_SECONDS = env.integer("HALO_ASK_SECONDS", 600, least=1, most=3600)
# How long a billing request waits for an admin.
HALO_BILLING_REQUEST_DAYS = env.integer("HALO_BILLING_REQUEST_DAYS", 7, least=1, most=90)
HALO_MAX_BODY_BYTES = env.integer("HALO_MAX_BODY_BYTES", 1_048_576, least=1024, most=env.MAX_BYTES)
HALO_MAX_REGISTER_BYTES = env.integer("HALO_MAX_REGISTER_BYTES", 65_536, least=1024, most=1_048_576)
HALO_MAX_RESULT_BYTES = env.integer(
    "HALO_MAX_RESULT_BYTES", 1_048_576, least=1024, most=env.MAX_BYTES
)
HALO_DATA_SECONDS = env.integer("HALO_DATA_SECONDS", 5, least=1, most=600)
HALO_KNOWLEDGE_DAILY_SECONDS = env.integer(
    "HALO_KNOWLEDGE_DAILY_SECONDS", 3_600, least=60, most=86_400
)
HALO_PAGE_SECONDS = env.integer("HALO_PAGE_SECONDS", 15, least=1, most=600)

# --- Vendors ------------------------------------------------------------------------------------

# Base URLs of vendors that replace the public ones, such as a proxy or a fake. They may be in a
# private network and without https.
HALO_VENDOR_URLS = env.base_urls("HALO_VENDOR_URLS")
# Concurrent calls to vendors and APIs in one process (tools_registry/vendors/slots.py).
HALO_VENDOR_CALLS = env.integer("HALO_VENDOR_CALLS", 16, least=1, most=1_000)

# --- The authorization server -------------------------------------------------------------------

# The scope in the metadata, and of requests without a scope: read access only.
HALO_DEFAULT_SCOPE = env.scope("HALO_DEFAULT_SCOPE", "docs:read setup:read data:read")
HALO_APP_SCHEMES = env.schemes(
    "HALO_APP_SCHEMES",
    "cursor vscode vscode-insiders vscodium windsurf claude zed raycast warp jetbrains",
)
# Whether a client may identify itself by the https URL of its metadata
# (docs/sign-in-and-consent.md). None: it may, and discovery announces that once this server has
# reached the internet.
HALO_CIMD = env.flag_or_auto("HALO_CIMD")
# Hosts in a private network that may publish client metadata: host, or host:port if it is not 443.
HALO_CIMD_PRIVATE_HOSTS = env.private_hosts("HALO_CIMD_PRIVATE_HOSTS")

# --- Tools --------------------------------------------------------------------------------------

HALO_DOCS_SOURCE = Path(env.text("HALO_DOCS_SOURCE", str(BASE_DIR / "docs"))).resolve()
# Where browsers load the script of setup_get_install_snippet from: here, or a delivery network.
HALO_WIDGET_SCRIPT_URL = env.address(
    "HALO_WIDGET_SCRIPT_URL", f"{HALO_PUBLIC_URL}/static/sdk/haloagents.umd.js"
)

# --- The first start ----------------------------------------------------------------------------

HALO_ADMIN_EMAIL = env.text("HALO_ADMIN_EMAIL", "admin@example.com").lower()
HALO_ADMIN_PASSWORD = env.text("HALO_ADMIN_PASSWORD")
# What the demo organization is filled with.
HALO_DEMO_DATA = env.choice("HALO_DEMO_DATA", "small", ("small", "off"))

# --- Django -------------------------------------------------------------------------------------

# Each module of these packages has a `TOOLSET` (`tools_registry/registry.py`).
TOOL_PACKAGES = ("tools_registry.sources", "data_tools", "integrations")

INSTALLED_APPS = [
    "workspace.administration.config.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "corsheaders",
    "csp",
    "oauth",  # before the toolkit, whose management commands it replaces
    "oauth2_provider",
    "foundation",
    "workspace",
    "customers",
    "audit",
    "documentation",
    "tools_registry",
    "approvals",
    "gateway",
    "people",
    "agents",
    "ingestion",
    "rest",
    "console",
    "halo_mcp",
]
MIDDLEWARE = [
    "halo_mcp.server.edge.threads",
    "halo_mcp.server.edge.trusted_scheme",
    "halo_mcp.server.edge.client_addresses",
    "halo_mcp.server.edge.openers",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "halo_mcp.server.edge.private_by_default",
    "corsheaders.middleware.CorsMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "halo_mcp.server.edge.KnownHost",
    "people.hosts.WorkspaceHosts",
    "console.page_time_limit.PageTimeLimit",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "console.kept_forms.middleware",
    "console.admin_queries.AdminQueries",
    "console.errors.method_not_allowed",
]
ROOT_URLCONF = "halo_mcp.urls"
WSGI_APPLICATION = "halo_mcp.wsgi.application"
ASGI_APPLICATION = "halo_mcp.asgi.application"
# A redirect on /api/mcp would lose the client's POST.
APPEND_SLASH = False
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "workspace.administration.access.context",
                "console.page_notices.context",
            ],
            "builtins": ["foundation.templatetags.links", "console.templatetags.csrf_forms"],
        },
    }
]
LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English"))]
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
# Files are served from the source folders, without a collect step; the set is small.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG
WHITENOISE_MAX_AGE = 300
# Files at the origin, where browsers, clients and crawlers look for them.
WHITENOISE_ROOT = BASE_DIR / "static" / "origin"
DATA_UPLOAD_MAX_MEMORY_SIZE = 1_048_576
DATA_UPLOAD_MAX_NUMBER_FIELDS = 2000
# The only uploaded file, of customers, fits into a request body; nothing is spooled to disk.
FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.MemoryFileUploadHandler"]

# --- Sign-in ------------------------------------------------------------------------------------

AUTH_USER_MODEL = "workspace.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "/signin"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/"
ACCOUNT_ADAPTER = "console.account.accounts.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_LOGOUT_ON_GET = False
# How long a reauthentication is valid, and a password without its second step.
ACCOUNT_REAUTHENTICATION_TIMEOUT = 300
ACCOUNT_LOGIN_TIMEOUT = 900
# Failed sign-ins are counted in console/account/guesses.py, pages in
# oauth/endpoints/page_limits.py. allauth's own limits would let anybody lock an account, and lose
# counters when the cache is full.
ACCOUNT_RATE_LIMITS = MFA_RATE_LIMITS = False
MFA_ADAPTER = "console.account.second_factors.SecondFactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
# A phone's clock may be off by half a minute (RFC 6238 section 5.2).
MFA_TOTP_TOLERANCE = 1
MFA_RECOVERY_CODE_COUNT = 10
MFA_RECOVERY_CODES_SHOW_ONCE = True
# Administrators enter the addresses; users cannot change them here.
MFA_ALLOW_UNVERIFIED_EMAIL = True
MFA_WEBAUTHN_USER_VERIFICATION = "required"

# --- Security headers ---------------------------------------------------------------------------

SESSION_COOKIE_NAME = cookies.name("session", HALO_PUBLIC_URL)
CSRF_COOKIE_NAME = cookies.name("csrf", HALO_PUBLIC_URL)
LANGUAGE_COOKIE_NAME = cookies.name("language", HALO_PUBLIC_URL)
HALO_MESSAGES_COOKIE = cookies.name("messages", HALO_PUBLIC_URL)
HALO_KNOWN_BROWSER_COOKIE = cookies.name("known_browser", HALO_PUBLIC_URL)
MESSAGE_STORAGE = "console.message_storage.MessageStorage"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = IS_HTTPS
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "console.errors.csrf_failure"
CSRF_TRUSTED_ORIGINS = [HALO_PUBLIC_URL]
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_SSL_REDIRECT = False  # the proxy in front does this; /api/mcp must never redirect
SECURE_HSTS_SECONDS = 31_536_000 if IS_HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = IS_HTTPS
# halo_mcp/server/edge.py removes it from requests of others than HALO_TRUSTED_PROXIES.
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
    }
}
RATELIMIT_USE_CACHE = "default"
SILENCED_SYSTEM_CHECKS = [
    # The checks halo.E003 and halo.E004 cover the process-local cache.
    "django_ratelimit.E003",
    "django_ratelimit.W001",
    # The proxy redirects to https: a redirect here would lose a client's POST.
    "security.W008",
    # SQLite has no columns that are only included in an index; it gets the index without them.
    "models.W040",
]

# --- Background work ----------------------------------------------------------------------------

CELERY_BROKER_URL = REDIS_URL or "filesystem://localhost"
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = (
    {
        # After so many seconds, messages of a worker that was killed go to another one. Tasks that
        # take longer are delivered twice, and claim rows or may run twice.
        "visibility_timeout": 600,
        # More than the second for which a worker that waits for messages has Redis hold its answer.
        "socket_timeout": 5,
        "socket_connect_timeout": 2,
        "socket_keepalive": True,
        "health_check_interval": 10,
    }
    if REDIS_URL
    else {
        "data_folder_in": str(HALO_DATA_DIR / "broker"),
        "data_folder_out": str(HALO_DATA_DIR / "broker"),
        "control_folder": str(HALO_DATA_DIR / "broker-control"),
    }
)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
# A message for each thread: what waits is left to other workers.
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
# Celery would log each line that is printed as a warning: mails without a mail server are printed.
CELERY_WORKER_REDIRECT_STDOUTS = False

LOGGING = logs.configuration(level=env.text("HALO_LOG_LEVEL", "INFO").upper())
