"""What production must not be started with, each with an id and a way to mend it."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register, run_checks
from django.db import DEFAULT_DB_ALIAS

# What has to hold before a process takes work, however it was started.
BEFORE_SERVING = (Tags.security, Tags.database, "tools")
DATABASES = (DEFAULT_DB_ALIAS,)


def problems() -> list[str]:
    """What forbids this process to serve, a line each; for starts that no command checks."""
    found = run_checks(tags=BEFORE_SERVING, databases=DATABASES)
    return [str(each) for each in found if each.is_serious() and not each.is_silenced()]


@register(Tags.security)
def production_is_safe(**_options: Any) -> Sequence[CheckMessage]:
    """Refuse a start that only suits a laptop once HALO_ENV says production."""
    if not settings.HALO_PRODUCTION:
        return []
    checks = (_debug, _keys, _counters, _issuer)
    return [problem for check in checks for problem in check()]


@register(Tags.security)
def counters_are_shared(**_options: Any) -> Sequence[CheckMessage]:
    """More than one process with counters of its own would multiply every limit."""
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
