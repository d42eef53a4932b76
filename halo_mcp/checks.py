"""Django system checks that refuse unsafe production settings, each with an id and a hint."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register, run_checks
from django.db import DEFAULT_DB_ALIAS

from oauth import scopes
from oauth.consent import grantable

# The checks that every process runs before it starts, whichever command started it.
BEFORE_SERVING = (Tags.security, Tags.database, "tools")
DATABASES = (DEFAULT_DB_ALIAS,)


def problems() -> list[str]:
    """Returns the failed checks, one line each, for starts without a management command."""
    found = run_checks(tags=BEFORE_SERVING, databases=DATABASES)
    return [str(each) for each in found if each.is_serious() and not each.is_silenced()]


@register(Tags.security)
def production_is_safe(**_options: Any) -> Sequence[CheckMessage]:
    """Refuses settings that are only for development if HALO_ENV is production."""
    if not settings.HALO_PRODUCTION:
        return []
    checks = (_debug, _keys, _counters, _issuer)
    return [problem for check in checks for problem in check()]


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
