"""Django system checks that refuse to start, each with an id and a hint."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register, run_checks
from django.core.checks import Warning as DjangoWarning
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.urls import URLPattern, URLResolver, get_resolver

from halo_mcp import env
from oauth import scopes
from oauth.consent import grantable

# The checks that every process runs before it starts, whichever command started it.
BEFORE_SERVING = (Tags.security, Tags.database, "tools")
DATABASES = (DEFAULT_DB_ALIAS,)
# Where agents are by default, and nothing else is.
FREE_PATH: Final = "/aap"
PARAMETER: Final = re.compile(r"<[^>]*>")
# The last version with the migrations that the present ones replace (docs/operate/deployment.md).
BEFORE_SQUASHING = "2a72267"


def problems() -> list[str]:
    """Returns the failed checks, one line each, for starts without a management command."""
    found = run_checks(tags=BEFORE_SERVING, databases=DATABASES)
    return [str(each) for each in found if each.is_serious() and not each.is_silenced()]


def warnings() -> list[str]:
    """Returns what a start says and goes on with, one line each."""
    return [str(each.msg) for each in names_are_known() if not each.is_silenced()]


@register(Tags.security)
def production_is_safe(**_options: Any) -> Sequence[CheckMessage]:
    """Refuses settings that are only for development if HALO_ENV is production."""
    if not settings.HALO_PRODUCTION:
        return []
    checks = (_debug, _keys, _counters, _issuer)
    return [problem for check in checks for problem in check()]


@register(Tags.security)
def public_server_is_named(**_options: Any) -> Sequence[CheckMessage]:
    """Refuses an address that others reach, unless HALO_ENV says what kind of server this is."""
    if settings.HALO_ENV or settings.IS_LOOPBACK:
        return []
    return [
        Error(
            f"Others reach this server at {settings.HALO_PUBLIC_URL}, and HALO_ENV is not set.",
            hint="Add the line HALO_ENV=production to its environment, or HALO_ENV=development for "
            "a server without data of real people.",
            id="halo.E008",
        )
    ]


@register(Tags.security)
def names_are_known(**_options: Any) -> Sequence[CheckMessage]:
    """Warns of environment variables that look like settings and are none."""
    return [
        DjangoWarning(
            f"{name} is in the environment and is no setting."
            + (f" Did you mean {nearest}?" if nearest else ""),
            hint="docs/operate/configuration.md lists the settings.",
            id="halo.W001",
        )
        for name, nearest in env.find_unknown_names().items()
    ]


@register(Tags.security)
def path_of_agents_is_free(**_options: Any) -> Sequence[CheckMessage]:
    """Refuses a base path of agents below which something else is: it would not be found."""
    if settings.HALO_AGENTS_PATH == FREE_PATH:
        return []  # so that a worker need not load every page
    path = f"{settings.HALO_AGENTS_PATH}/"
    routes = {f"/{settings.STATIC_URL.strip('/')}", *_routes(get_resolver().url_patterns)}
    taken = sorted(route for route in routes if f"{route}/".startswith(path))
    if not taken:
        return []
    return [
        Error(
            f"HALO_AGENTS_PATH is {settings.HALO_AGENTS_PATH}, where this server has {taken[0]}.",
            hint="Choose a path that nothing else is at, such as /aap.",
            id="halo.E009",
        )
    ]


def _routes(patterns: Sequence[Any], before: str = "/") -> Iterator[str]:
    """The address of each page up to its first parameter."""
    for each in patterns:
        route = before + str(each.pattern).lstrip("^").replace("\\", "")
        if isinstance(each, URLResolver):
            yield from _routes(each.url_patterns, route)
        elif isinstance(each, URLPattern):
            yield PARAMETER.split(route)[0].partition("(")[0].rstrip("$")


@register(Tags.security)
def default_scope_can_be_granted(**_options: Any) -> Sequence[CheckMessage]:
    """Refuses a default scope with parts that no request could be granted."""
    default = scopes.parse(settings.HALO_DEFAULT_SCOPE)
    if grantable.only(default) == default:
        return []
    return [
        Error(
            "HALO_DEFAULT_SCOPE names an integration or action that does not exist here.",
            hint="Set HALO_DEFAULT_SCOPE to scopes that can be granted (docs/scopes.md).",
            id="halo.E006",
        )
    ]


@register(Tags.security)
def counters_are_shared(**_options: Any) -> Sequence[CheckMessage]:
    """Refuses counters in memory for several processes, which would multiply every limit."""
    if settings.HALO_PROCESSES == 1 or settings.HALO_LIMIT_STORE != "memory":
        return []
    return [
        Error(
            "HALO_PROCESSES is above one while rate limits are counted inside a process.",
            hint="Set REDIS_URL, or use PostgreSQL in DATABASE_URL.",
            id="halo.E003",
        )
    ]


# With a tag of its own: web processes run those of databases too, and need no connection for it.
@register("migrations")
def migrations_can_continue(
    databases: Sequence[str] | None = None, **_options: Any
) -> Sequence[CheckMessage]:
    """Refuses databases that stopped between the migrations that one squashed migration replaces.

    Django would stop with a traceback, or create some of the tables only.
    """
    return [
        Error(
            "The database has some of the migrations of earlier versions, but not all: start the "
            f"version of commit {BEFORE_SQUASHING} on it once, then this one.",
            hint="docs/operate/deployment.md#migrations",
            id="halo.E007",
        )
        for alias in databases or ()
        if _is_partly_migrated(alias)
    ]


def _is_partly_migrated(alias: str) -> bool:
    loader = MigrationLoader(None, load=False)
    loader.load_disk()
    files = loader.disk_migrations
    try:
        applied = {*MigrationRecorder(connections[alias]).applied_migrations()}
    except DatabaseError:
        return False  # bootstrap reports a database that cannot be reached
    replaced = {name for each in files.values() for name in each.replaces}
    older = {label for label, _ in applied - replaced - files.keys()}
    # Django replaces migrations itself while their files exist. One whose replaced migrations are
    # all missing was not begun, as in an interrupted first start, unless there are older ones.
    return any(
        not applied.issuperset(each.replaces)
        and (each.app_label in older or applied.intersection(each.replaces))
        for each in files.values()
        if files.keys().isdisjoint(each.replaces)
    )


def _debug() -> list[CheckMessage]:
    if not settings.DEBUG:
        return []
    return [Error("HALO_DEBUG is on in production.", hint="Unset HALO_DEBUG.", id="halo.E001")]


def _keys() -> list[CheckMessage]:
    generated = {
        "HALO_SECRET_KEY": settings.SECRET_KEY_IS_GENERATED,
        "HALO_SEALING_KEYS": settings.SEALING_KEY_IS_GENERATED,
    }
    return [
        Error(
            f"{name} is not set: production must not run on a generated development key.",
            hint=f"Put a long random value into {name} and keep it safe.",
            id="halo.E002",
        )
        for name, is_generated in generated.items()
        if is_generated
    ]


def _counters() -> list[CheckMessage]:
    if settings.REDIS_URL or settings.HALO_PROCESSES == 1:
        return []
    return [
        Error(
            "Limits on sign-in and consent pages, of several processes, need a shared cache.",
            hint="Set REDIS_URL.",
            id="halo.E004",
        )
    ]


def _issuer() -> list[CheckMessage]:
    if settings.IS_HTTPS:
        return []
    return [
        Error(
            "The public address is not https: tokens would cross the network in the clear.",
            hint="Set HALO_PUBLIC_URL to an https:// origin.",
            id="halo.E005",
        )
    ]
